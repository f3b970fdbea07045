"""Orders and jobs for tests: small, complete, and driven by the real core.

`order()` is an order for three steps in a row; every part can be said otherwise. `Story` carries one
job through commands the way a ledger would, remembering all events. `Hand` is a clock moved by hand.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Decision, decide, open_job
from lucius.core.events import Event
from lucius.core.job import Attempt, Fault, Job, Order, Step, StepResult
from lucius.core.protocol import Protocol, StepRecipe
from lucius.core.routing import RoutingPolicy, route
from lucius.core.timing import due_at
from lucius.dispatch.directives import Directives
from lucius.ports.ledger import Change, Claim

START = 1_769_508_120_000
"""When tests begin."""
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000

_numbers = count(1)


class Hand:
    """A clock that is moved by hand."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        """The time."""
        return self.now

    def advance(self, milliseconds: int) -> int:
        """Later."""
        self.now += milliseconds
        return self.now


def job_id(at: int = START, number: int | None = None) -> str:
    """An id of the shape of a UUIDv7: ids in the order of their making sort that way."""
    digits = f"{at:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-{number or next(_numbers):012x}"


def recipe(name: str, **more: Any) -> StepRecipe:
    """A step; the times are the defaults of the product, without jitter."""
    return StepRecipe(
        **{"step_id": name, "step_type": name.upper(), "service": f"{name}-svc", "jitter": 0.0, **more}
    )


def protocol(*steps: StepRecipe | str, deadline: int | None = None) -> Protocol:
    """A recipe of these steps."""
    made = tuple(recipe(step) if isinstance(step, str) else step for step in steps)
    name = "_".join(step.step_type for step in made)
    return Protocol(protocol_id=name.lower(), version="1", request_type=name, steps=made, deadline=deadline)


THREE = protocol("ocr", "embedding", "sis")


def order(*, tenant: str = "acme", steps: Protocol = THREE, mode: str = "DEFAULT", **more: Any) -> Order:
    """An order; anything of it can be given."""
    at = more.pop("accepted_at", START)
    identity = more.pop("job_id", None) or job_id(at)
    policy = RoutingPolicy(burst_allowed=True)
    doc = more.get("doc_id") or ("doc" if mode == "BURST" else None)
    fields: dict[str, Any] = {
        "job_id": identity,
        "tenant_id": tenant,
        "request_type": steps.request_type,
        "protocol": steps,
        "routing": route(tenant_id=tenant, doc_id=doc, requested=mode, policy=policy),
        "input_ref": {"uri": "s3://in/a.pdf"},
        "output_ref": {"uri": "s3://out/a/"},
        "workspace_ref": {"uri": f"s3://space/lucius/{tenant}/{identity}/"},
        "payload": {},
        "schema_version": "1",
        "accepted_at": at,
        "idempotency_hash": identity,
        "doc_id": doc,
    }
    return Order(**fields | more)


def claim(
    of: Order, key: str | None = None, *, explicit: bool = False, expires_at: int | None = None
) -> Claim:
    """The claim of an order: of its own key unless one is given."""
    return Claim(
        tenant_id=of.tenant_id,
        key=f"{'k' if explicit else 'd'}:{key or of.job_id}",
        expires_at=expires_at,
        release_on_failure=not explicit,
    )


def done(uri: str = "s3://space/out.json") -> StepResult:
    """A result that says the work is done."""
    return StepResult(status="SUCCEEDED", output_ref={"uri": uri})


def lost(code: str = "BUSY", *, final: bool = False) -> StepResult:
    """A result that says it is not."""
    status = "FAILED_FINAL" if final else "FAILED_RETRY"
    return StepResult(status=status, error=Fault(code=code, message="said the service"))


AWAY = Fault(code="BUS_AWAY", message="The bus is away.")
render = Directives(lambda _job, _step, attempt: f"token-{attempt.lease_id}", {"ack": "https://l/ack"})
"""The directive of an attempt, as the engine would render it."""


def change(decision: Decision) -> Change:
    """A decision with its directives beside it."""
    return Change(decision=decision, outbox=tuple(render(decision.job, index) for index in decision.created))


class Story:
    """One job, its clock, and everything that has happened to it."""

    def __init__(self, of: Order | None = None) -> None:
        self.order = of or order()
        self.now = self.order.accepted_at
        self._leases = count(1)
        self.last = open_job(self.order, self._chance())
        self.events: list[Event] = list(self.last.events)

    @property
    def job(self) -> Job:
        """The job as it stands."""
        return self.last.job

    def _chance(self) -> Chance:
        return Chance(lease_id=f"lease-{next(self._leases)}", spread=0.5)

    def then(self, command: cmd.Command, after: int = 100) -> Story:
        """So much later, this."""
        self.now += after
        self.last = decide(self.job, command, self.now, self._chance())
        self.events += self.last.events
        return self

    def step(self, step_id: str | None = None) -> Step:
        """That step, or the one the job stands at."""
        found = self.job.step(step_id) if step_id else self.job.steps[self.job.current_index]
        assert found is not None, f"no step {step_id}"
        return found

    def attempt(self, step_id: str | None = None) -> Attempt:
        """The current attempt at a step."""
        found = self.step(step_id).attempt
        assert found is not None, f"no attempt at {step_id}"
        return found

    def reply(self, step_id: str | None = None) -> dict[str, Any]:
        """What every reply of the current attempt carries."""
        attempt = self.attempt(step_id)
        return {
            "step_id": self.step(step_id).step_id,
            "attempt_no": attempt.attempt_no,
            "lease_id": attempt.lease_id,
        }

    def published(self, step_id: str | None = None) -> Story:
        """The bus has it."""
        return self.then(
            cmd.Published(step_id=self.step(step_id).step_id, attempt_no=self.attempt(step_id).attempt_no)
        )

    def unpublished(self, step_id: str | None = None) -> Story:
        """The bus did not take it."""
        return self.then(
            cmd.PublishFailed(
                step_id=self.step(step_id).step_id, attempt_no=self.attempt(step_id).attempt_no, error=AWAY
            )
        )

    def acked(self, step_id: str | None = None) -> Story:
        """A service has it."""
        return self.then(cmd.Ack(**self.reply(step_id)))

    def result(self, result: StepResult | None = None, step_id: str | None = None) -> Story:
        """A service is done, well unless said otherwise."""
        return self.then(cmd.Result(**self.reply(step_id), result=result or done()))

    def tick(self, *, late: int = 0, held: frozenset[str] = frozenset()) -> Story:
        """The next timer runs out."""
        due = due_at(self.job)
        assert due is not None, f"nothing is due of a job that is {self.job.state}"
        return self.then(cmd.Tick(held=held), max(0, due - self.now) + late)

    def finished(self) -> Story:
        """Every open step is done well, one after the other."""
        while not self.job.terminal:
            self.published().acked().result()
        return self
