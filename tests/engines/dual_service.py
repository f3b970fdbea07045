"""The services of the dual run: what they read, and what they say about an attempt in either world."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from lucius.core import commands as cmd
from lucius.core.events import AttemptCreated
from lucius.core.job import Fault, Order, StepResult
from lucius.core.states import IN_FLIGHT_STEP
from lucius.errors import Unavailable
from lucius.ports.bus import Settle, Settlement
from lucius.testing.engine_harness import SERVICE
from lucius.testing.engines import EngineHarness
from lucius.testing.jobs import Hand, done, lost
from lucius.wire.messages import AckMessage, HeartbeatMessage, ResultMessage, WireMessage
from lucius.wire.timestamps import iso
from tests.engines.dual_world import DualTemporalWorld

_RICH = StepResult(
    status="SUCCEEDED",
    output_ref={"uri": "s3://space/out.json", "pages": 3},
    artifacts=({"uri": "s3://space/a"},),
)
_BARE = StepResult(status="FAILED_RETRY", error=Fault(code="BUSY"))
RESULTS = (
    *(done(), _RICH) * 3,
    *(lost(),) * 3,
    _BARE,
    done("s3://space/b.json"),
    lost("OTHER"),
    lost(final=True),
)


class Saying(msgspec.Struct, frozen=True, kw_only=True):
    """One reply, in terms that mean the same in both worlds."""

    of: Order
    about: AttemptCreated
    kind: str
    result: StepResult
    odd: str | None
    """What is wrong with it, if something is."""
    way: str
    """`http` (judged at once), `bus`, or `deaf`: Temporal cannot be told, so it is said once more."""

    def __str__(self) -> str:
        """For people."""
        status = f" {self.result.status}" if self.kind == "result" else ""
        odd = f", wrong {self.odd}" if self.odd else ""
        return f"{self.kind}{status} of {self.about.step_id}#{self.about.attempt_no} by {self.way}{odd}"

    async def say(self, world: EngineHarness) -> object:
        """Say it there; the verdict, if it can be heard."""
        job_id = self.of.job_id
        tenant = "somebody" if self.odd == "tenant" else self.of.tenant_id
        command = self._command(await self._lease(world))
        if self.way == "bus" and not world.bus.away:
            await world.say(_message(command, tenant, job_id, world.clock))
            return None
        if self.way == "deaf":
            await _unheard(world, tenant, job_id, command)
        return (await world.engine.report(tenant, job_id, command)).verdict

    def _command(self, lease: str) -> cmd.Reply:
        who: dict[str, Any] = {
            "step_id": "nobody" if self.odd == "step" else self.about.step_id,
            "attempt_no": self.about.attempt_no + (self.odd == "number"),
            "lease_id": "forged" if self.odd == "lease" else lease,
        }
        if self.kind == "ack":
            return cmd.Ack(**who)
        if self.kind == "beat":
            return cmd.Heartbeat(**who, progress=0.5, message="half of it")
        return cmd.Result(**who, result=self.result)

    async def _lease(self, world: EngineHarness) -> str:
        wanted = (self.about.step_id, self.about.attempt_no)
        for event in await world.ledger.events(self.of.job_id):
            if isinstance(event, AttemptCreated) and (event.step_id, event.attempt_no) == wanted:
                return event.lease_id
        return "not created"


def draw_saying(random: Random, of: Order, made: Sequence[AttemptCreated]) -> Saying:
    """Mostly what the newest attempt would say; sometimes an old one, or a stranger."""
    return Saying(
        of=of,
        about=made[-1] if random.random() < 0.7 else random.choice(made),
        kind=random.choice(("ack", "ack", "beat", "result", "result", "result", "result")),
        result=random.choice(RESULTS),
        odd=random.choice((None,) * 16 + ("lease", "tenant", "step", "number")),
        way=random.choice(("http", "http", "http", "bus", "deaf")),
    )


async def poll(world: EngineHarness, tenants: frozenset[str] | None) -> object:
    """Read all that waits for these tenants' services; which directives those were."""
    found = await world.bus.receive(SERVICE, limit=1000, wait=0, tenants=tenants)
    await world.bus.settle(
        [Settle(lock_token=each.lock_token, outcome=Settlement.COMPLETE) for each in found]
    )
    return sorted(each.message.message_id for each in found)


async def serve(world: EngineHarness, orders: Sequence[Order]) -> object:
    """Every attempt in flight succeeds."""
    verdicts = []
    for of in orders:
        job = await world.ledger.job(of.job_id)
        for step in job.steps if job else ():
            if step.state in IN_FLIGHT_STEP and step.attempt is not None:
                reply = cmd.Result(
                    step_id=step.step_id,
                    attempt_no=step.attempt.attempt_no,
                    lease_id=step.attempt.lease_id,
                    result=done(f"s3://space/{step.step_id}.json"),
                )
                verdicts.append((await world.engine.report(of.tenant_id, of.job_id, reply)).verdict)
    return verdicts


async def _unheard(world: EngineHarness, tenant: str, job_id: str, command: cmd.Reply) -> None:
    """The ledger has it and Temporal could not be told: the service is not answered, and says it again."""
    if not isinstance(world, DualTemporalWorld):
        await world.engine.report(tenant, job_id, command)
        return
    with world.hearing_nothing():
        try:
            await world.engine.report(tenant, job_id, command)
        except Unavailable:
            return


def _message(command: cmd.Reply, tenant: str, job_id: str, clock: Hand) -> WireMessage:
    who: dict[str, Any] = {
        "job_id": job_id,
        "tenant_id": tenant,
        "step_id": command.step_id,
        "attempt_no": command.attempt_no,
        "lease_id": command.lease_id,
        "timestamp": iso(clock()),
    }
    if isinstance(command, cmd.Result):
        said = command.result
        more = {"output_ref": said.output_ref, "artifacts": said.artifacts, "error": said.error}
        return ResultMessage(**who, **more, status=said.status)  # type: ignore[arg-type]
    if isinstance(command, cmd.Heartbeat):
        return HeartbeatMessage(**who, progress=command.progress, message=command.message)
    return AckMessage(**who)
