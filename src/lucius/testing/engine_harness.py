"""What the engine suites are given: an engine at work, its ledger, bus and clock, and a service to play."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from lucius.core import commands as cmd
from lucius.core.admission import Limits
from lucius.core.decide import Verdict
from lucius.core.job import Job, Order, Step, StepResult
from lucius.core.promises import check_directives, check_history
from lucius.core.routing import topics
from lucius.ports.bus import Message, Settle, Settlement, Subscription
from lucius.ports.engine import Answer, Engine
from lucius.ports.ledger import Ledger, Opened
from lucius.testing.faulty_bus import FaultyBus
from lucius.testing.jobs import Hand, claim, done, order
from lucius.wire.messages import (
    AckMessage,
    DirectiveMessage,
    ResultMessage,
    WireMessage,
    decode_directive,
    encode,
)
from lucius.wire.timestamps import iso

SERVICE = Subscription(name="service", topics=topics())
PATIENCE = 30.0
"""Seconds a service waits in tests that end by a message, never by this."""
NO_LIMITS = Limits()


class EngineHarness(ABC):
    """An engine that runs. An implementation says how to sweep, rest, and start again."""

    engine: Engine
    ledger: Ledger
    bus: FaultyBus
    clock: Hand

    @abstractmethod
    async def sweep(self) -> None:
        """Do everything that is due now, and let it come to rest."""

    @abstractmethod
    async def rest(self) -> None:
        """Wait until nothing is under way: what could be committed and published is."""

    @abstractmethod
    async def restart(self) -> None:
        """Stop at once, lose a volatile bus, and start again from what is kept."""

    @abstractmethod
    async def bus_back(self) -> None:
        """The bus is there again, and the engine has noticed."""

    # -- asking -------------------------------------------------------------------------------

    def open(self, of: Order, limits: Limits = NO_LIMITS, **by: Any) -> Any:
        """Submit; the answer is awaited by the caller."""
        return self.engine.open(of, claim(of, **by), limits)

    async def opened(self, limits: Limits = NO_LIMITS, **more: Any) -> Job:
        """A fresh job of now."""
        answer: Opened = await self.open(self.order(**more), limits)
        return answer.job

    def order(self, **more: Any) -> Order:
        """An order of now."""
        return order(**{"accepted_at": self.clock(), **more})

    async def control(self, job: Job, command: cmd.Command, limits: Limits = NO_LIMITS) -> Answer:
        """Cancel, pause, resume."""
        return await self.engine.control(job.job_id, command, limits)

    async def job(self, job: Job) -> Job:
        """The job as it stands, checked against all its promises."""
        await self.rest()
        found = await self.ledger.job(job.job_id)
        assert found is not None
        events = await self.ledger.events(job.job_id)
        assert check_history(job.order, events, found) == []
        return found

    async def step(self, job: Job, index: int = 0) -> Step:
        """One step as it stands."""
        return (await self.job(job)).steps[index]

    async def after(self, milliseconds: int) -> None:
        """Time passes, and what is due is done."""
        self.clock.advance(milliseconds)
        await self.sweep()

    # -- playing the service ------------------------------------------------------------------

    async def take(self) -> DirectiveMessage:
        """The next directive, settled."""
        (delivery,) = await self.bus.receive(SERVICE, limit=1, wait=PATIENCE)
        await self.bus.settle([Settle(lock_token=delivery.lock_token, outcome=Settlement.COMPLETE)])
        return decode_directive(delivery.message.body)

    async def waiting(self) -> list[str]:
        """Jobs of all directives that wait to be taken; they are left untaken no longer."""
        await self.rest()
        taken = await self.bus.receive(SERVICE, limit=1000, wait=0)
        await self.bus.settle(
            [Settle(lock_token=each.lock_token, outcome=Settlement.COMPLETE) for each in taken]
        )
        return [decode_directive(each.message.body).job_id for each in taken]

    async def say(self, reply: WireMessage) -> None:
        """A reply over the bus."""
        message = Message(
            message_id=f"{type(reply).__name__}-{len(self.bus.taken)}",
            topic="global-bus-replies-p0",
            subject=str(type(reply).__struct_config__.tag),
            tenant_id=reply.tenant_id,
            body=encode(reply),
        )
        await self.bus.publish([message])

    async def ack(self, directive: DirectiveMessage) -> None:
        """The service has it."""
        await self.say(AckMessage(**_who(directive), timestamp=iso(self.clock())))

    async def deliver(self, directive: DirectiveMessage, uri: str = "s3://space/out.json") -> None:
        """The service is done, over the bus."""
        await self.say(
            ResultMessage(
                **_who(directive), status="SUCCEEDED", timestamp=iso(self.clock()), output_ref={"uri": uri}
            )
        )

    async def report(self, directive: DirectiveMessage, result: StepResult | None = None) -> Verdict:
        """The service is done, and hears how that was judged."""
        reply = cmd.Result(
            step_id=directive.step_id,
            attempt_no=directive.attempt_no,
            lease_id=directive.lease_id,
            result=result or done(),
        )
        return (await self.engine.report(directive.tenant_id, directive.job_id, reply)).verdict

    async def finish(self, job: Job) -> Job:
        """Serve until the job is over; every attempt must have had its directive, once each in the ledger."""
        while not (found := await self.job(job)).terminal:
            await self.report(await self.take())
        return found

    async def check_directives(self, job: Job) -> None:
        """The directives that the ledger holds for open attempts are those of the attempts."""
        events = await self.ledger.events(job.job_id)
        rows = await self.ledger.outbox([job.job_id])
        current = {(row.step_id, row.attempt_no) for row in rows}
        made = [e for e in events if (getattr(e, "step_id", ""), getattr(e, "attempt_no", 0)) in current]
        assert check_directives(job.order, made, rows) == []


def _who(directive: DirectiveMessage) -> dict[str, Any]:
    return {
        "job_id": directive.job_id,
        "step_id": directive.step_id,
        "tenant_id": directive.tenant_id,
        "attempt_no": directive.attempt_no,
        "lease_id": directive.lease_id,
    }
