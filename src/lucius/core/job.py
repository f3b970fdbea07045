"""The frozen records a job is made of. Times are milliseconds since the epoch."""

from __future__ import annotations

from typing import Any

import msgspec

from lucius.core.protocol import Protocol
from lucius.core.states import TERMINAL_JOB, JobState, StepState

Ref = dict[str, Any]
"""A reference: an object with a `uri` and whatever metadata its owner likes."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Why something failed, for people and for programs."""

    code: str
    message: str = ""


class Routing(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Where a job's messages go and why; computed once, never again."""

    mode: str
    lane: int
    routing_key_used: str
    topic: str
    reply_topic: str
    decision_source: str
    decision_reason: str


class Order(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What was asked for: fixed when the job is accepted."""

    job_id: str
    tenant_id: str
    request_type: str
    protocol: Protocol
    routing: Routing
    input_ref: Ref
    output_ref: Ref
    workspace_ref: Ref
    payload: dict[str, Any]
    schema_version: str
    accepted_at: int
    idempotency_hash: str
    idempotency_key: str | None = None
    doc_id: str | None = None
    callback_urls: tuple[str, ...] = ()
    correlation_id: str | None = None
    traceparent: str | None = None
    not_before: int | None = None
    priority: int = 0
    ancestor_id: str | None = None
    start_index: int = 0
    """A retried job starts here; the steps before it come with their ancestor's results."""
    inherited: tuple[StepResult, ...] = ()
    extensions: dict[str, Any] = {}


class StepResult(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What a service reported about one attempt. Two equal results are one result."""

    status: str
    output_ref: Ref | None = None
    artifacts: tuple[Ref, ...] = ()
    error: Fault | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One try at a step: committed before anything of it is published."""

    attempt_no: int
    lease_id: str
    created_at: int
    lease_expires_at: int
    publish_due_at: int
    dispatch_deadline_at: int
    publish_tries: int = 0
    published_at: int | None = None
    ack_due_at: int | None = None
    acked_at: int | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One step of a job."""

    step_id: str
    index: int
    state: StepState
    created_at: int
    updated_at: int
    attempt: Attempt | None = None
    dispatch_failures: int = 0
    execution_failures: int = 0
    retry_at: int | None = None
    result: StepResult | None = None
    """What the current attempt reported; a new attempt starts without one."""
    last_error: Fault | None = None
    progress: float | None = None
    progress_message: str | None = None
    completed_at: int | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A job as it stands. `version` is the number of its last event."""

    order: Order
    state: JobState
    steps: tuple[Step, ...]
    version: int
    updated_at: int
    completed_at: int | None = None
    error: Fault | None = None
    final_output: Ref | None = None
    deadline_at: int | None = None
    paused_at: int | None = None
    """Since when its deadlines stand still: from the pause on, until it is resumed."""
    cancel_requested_at: int | None = None

    @property
    def job_id(self) -> str:
        """The id the client got."""
        return self.order.job_id

    @property
    def terminal(self) -> bool:
        """True when nothing about this job will ever change again."""
        return self.state in TERMINAL_JOB

    @property
    def current_index(self) -> int:
        """The lowest step that has not succeeded, or the last one."""
        for step in self.steps:
            if step.state is not StepState.SUCCEEDED:
                return step.index
        return len(self.steps) - 1

    @property
    def attempts_total(self) -> int:
        """Attempts over all steps."""
        return sum(step.attempt.attempt_no for step in self.steps if step.attempt)

    def step(self, step_id: str) -> Step | None:
        """The step of that id, if the job has one."""
        for step in self.steps:
            if step.step_id == step_id:
                return step
        return None


class Standing(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Everything about a job that is not its order: what moves."""

    state: JobState
    steps: tuple[Step, ...]
    version: int
    updated_at: int
    completed_at: int | None = None
    error: Fault | None = None
    final_output: Ref | None = None
    deadline_at: int | None = None
    paused_at: int | None = None
    cancel_requested_at: int | None = None

    def of(self, order: Order) -> Job:
        """The job of that order which stands so."""
        return Job(order=order, **{name: getattr(self, name) for name in _MOVING})


_MOVING = Standing.__struct_fields__


def standing(job: Job) -> Standing:
    """How a job stands, without its order."""
    return Standing(**{name: getattr(job, name) for name in _MOVING})
