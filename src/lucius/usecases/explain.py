"""Explain: why a job stands where it stands, for people and for programs.

`blocking_of` is pure and total: every state of a job has exactly one reason why it is not further.
`Explain` adds what only the running system knows: who else waits, how long the queue is, the limits.
Estimates are named so; they are true at the moment of asking and at no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lucius.core.admission import Counts, Limits, admit
from lucius.core.events import Event
from lucius.core.job import Fault, Job, Step
from lucius.core.states import ACTIVE_STEP, JobState, StepState
from lucius.core.timing import due_at, in_flight
from lucius.security.principal import Role, missing, require, sees
from lucius.usecases.directives import subscription_name
from lucius.usecases.explain_words import Kind, action_of, because_of, ready_since

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.job import Order
    from lucius.errors import Saturated
    from lucius.ports.bus import Bus
    from lucius.ports.engine import Driver, Engine
    from lucius.ports.ledger import Ledger, Usage
    from lucius.ports.schematics import Schematics
    from lucius.security.principal import Principal

HISTORY = 10


class Blocking(msgspec.Struct, frozen=True, kw_only=True):
    """What a job waits for, and since when."""

    kind: Kind
    since: int
    step_id: str | None = None
    attempt_no: int | None = None


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """How long the line is, as far as it can be told. None: this job stands in no such line."""

    position_estimate: int | None = None
    """Directives that go to the bus before this job's, at most."""
    ahead_of_tenant: int | None = None
    """Tenants whose turn at the bus comes before this one's."""
    service_backlog: int | None = None
    """Directives of this step type that wait for a service."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that explains a job."""

    job: Job
    because: str
    blocking: Blocking
    queue: Queue
    limits: Limits
    usage: Usage
    next_due_at: int | None
    next_action: str
    last_error: Fault | None
    history: tuple[Event, ...]


class Explain:
    """Looks at a job and at what is round it."""

    def __init__(
        self,
        ledger: Ledger,
        engine: Engine,
        bus: Bus,
        schematics: Schematics,
        *,
        usage: Callable[[str], Usage],
        clock: Callable[[], int],
    ) -> None:
        self._ledger = ledger
        self._engine = engine
        self._bus = bus
        self._schematics = schematics
        self._usage = usage
        self._clock = clock

    async def explain(self, job_id: str, principal: Principal) -> Explanation:
        """Why this job stands where it stands."""
        require(principal, Role.READ)
        job = await self._ledger.job(job_id)
        if job is None or not sees(principal, job.order.tenant_id):
            raise missing("job", job_id)
        now, tenant = self._clock(), job.order.tenant_id
        blocking = blocking_of(job, now, self._engine.driver)
        return Explanation(
            job=job,
            because=because_of(job, blocking.kind, now),
            blocking=blocking,
            queue=await self._queue(job, blocking),
            limits=self._schematics.current().limits(tenant),
            usage=self._usage(tenant),
            next_due_at=due_at(job),
            next_action=action_of(blocking.kind),
            last_error=job.error or next((s.last_error for s in reversed(job.steps) if s.last_error), None),
            history=tuple(
                await self._ledger.events(job_id, after=max(0, job.version - HISTORY), limit=HISTORY)
            ),
        )

    def admission(self, order: Order) -> tuple[Limits, Usage, Saturated | None]:
        """What the tenant may hold and holds, and whether one more job would be refused right now."""
        limits = self._schematics.current().limits(order.tenant_id)
        usage = self._usage(order.tenant_id)
        counts = Counts(
            tenant=usage.tenant_jobs, system=usage.system_jobs, tenant_burst=usage.tenant_burst_jobs
        )
        return limits, usage, admit(limits, counts, order.routing.mode)

    async def _queue(self, job: Job, blocking: Blocking) -> Queue:
        if blocking.kind == "waiting_for_bus":
            return position(self._engine.waiting(), job.order.tenant_id)
        if blocking.kind == "waiting_for_service":
            step_type = job.order.protocol.steps[job.current_index].step_type
            return Queue(service_backlog=(await self._bus.backlog()).get(subscription_name(step_type)))
        return Queue()


def blocking_of(job: Job, now: int, driver: Driver = "sweep") -> Blocking:
    """The one reason why the job is not further; `driver` starts what is ready."""
    step = _step_in_question(job)
    if job.terminal:
        return Blocking(kind="terminal", since=job.completed_at or job.updated_at)
    if job.state is JobState.PAUSED:
        return _at(step, "paused", job.paused_at or job.updated_at)
    if job.state is JobState.CANCELLING:
        return _at(step, "cancelling", job.cancel_requested_at or job.updated_at)
    if job.state is JobState.PAUSING and in_flight(job):
        return _at(step, "pausing", job.updated_at)
    if driver == "workflow" and _ready(job, step, now):
        return _at(step, "waiting_for_workflow", ready_since(job, step))
    if step.state in ACTIVE_STEP:
        return _at(step, _WAITS[step.state], _since(step))
    return _not_begun(job, step, now)


def _not_begun(job: Job, step: Step, now: int) -> Blocking:
    if job.order.not_before is not None and now < job.order.not_before:
        return _at(step, "not_before", job.order.accepted_at)
    return _at(step, "starting", job.updated_at)


def _ready(job: Job, step: Step, now: int) -> bool:
    """Whether its next attempt could start now."""
    if step.state is StepState.FAILED_RETRY:
        return step.retry_at is not None and step.retry_at <= now
    return step.state is StepState.PENDING and now >= (job.order.not_before or 0)


_WAITS: dict[StepState, Kind] = {
    StepState.DISPATCHING: "waiting_for_bus",
    StepState.AWAITING_ACK: "waiting_for_service",
    StepState.IN_PROGRESS: "in_progress",
    StepState.FAILED_RETRY: "waiting_for_retry",
}


def _since(step: Step) -> int:
    """When the step came to where it stands."""
    attempt, at = step.attempt, None
    if attempt is not None:
        at = {
            StepState.DISPATCHING: attempt.created_at,
            StepState.AWAITING_ACK: attempt.published_at,
            StepState.IN_PROGRESS: attempt.acked_at,
        }.get(step.state)
    return step.updated_at if at is None else at


def position(waiting: dict[str, int] | None, tenant: str) -> Queue:
    """Where a tenant's last waiting directive stands in a queue that serves tenants in turn.

    Nothing is told of a queue that is not known here.
    """
    if waiting is None:
        return Queue()
    own = waiting.get(tenant, 0)
    if not own:
        return Queue(position_estimate=0, ahead_of_tenant=0)
    others = sum(min(count, own) for name, count in waiting.items() if name != tenant)
    return Queue(position_estimate=own - 1 + others, ahead_of_tenant=list(waiting).index(tenant))


def _step_in_question(job: Job) -> Step:
    for step in job.steps:
        if step.state in ACTIVE_STEP:
            return step
    return job.steps[job.current_index]


def _at(step: Step, kind: Kind, since: int) -> Blocking:
    attempt_no = step.attempt.attempt_no if step.attempt else None
    return Blocking(kind=kind, since=since, step_id=step.step_id, attempt_no=attempt_no)
