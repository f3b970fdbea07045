"""What can happen to a job: append-only, numbered, complete.

Replaying a job's events through `evolve` gives the job. The tag is the public name of the event.
"""

from __future__ import annotations

import msgspec

from lucius.core.job import Fault, Ref, StepResult


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="type"):
    """Base: the number within its job, and when."""

    seq: int
    at: int


class StepEvent(Event, frozen=True, kw_only=True):
    """An event of one attempt at one step."""

    step_id: str
    attempt_no: int


class JobAccepted(Event, frozen=True, kw_only=True, tag="job.accepted"):
    """The command became a durable job."""

    deadline_at: int | None = None


class AttemptCreated(StepEvent, frozen=True, kw_only=True, tag="attempt.created"):
    """A new try with a lease of its own; its directive is committed beside it."""

    lease_id: str
    lane: int
    lease_expires_at: int
    publish_due_at: int
    dispatch_deadline_at: int


class DirectivePublished(StepEvent, frozen=True, kw_only=True, tag="directive.published"):
    """The bus has it; now somebody has to pick it up."""

    ack_due_at: int


class DirectiveRequeued(StepEvent, frozen=True, kw_only=True, tag="directive.requeued"):
    """Not sent yet: the same bytes will be published again."""

    publish_tries: int
    publish_due_at: int
    error: Fault | None = None


class AckWaitExtended(StepEvent, frozen=True, kw_only=True, tag="directive.waiting"):
    """Nobody has read it yet, but its queue is being read: waiting is no failure."""

    ack_due_at: int


class StepAcknowledged(StepEvent, frozen=True, kw_only=True, tag="step.acknowledged"):
    """A service has picked the directive up."""

    lease_expires_at: int


class LeaseExtended(StepEvent, frozen=True, kw_only=True, tag="step.heartbeat"):
    """The service is still at it."""

    lease_expires_at: int
    progress: float | None = None
    message: str | None = None


class StepSucceeded(StepEvent, frozen=True, kw_only=True, tag="step.succeeded"):
    """The current attempt delivered."""

    result: StepResult


class StepRetryScheduled(StepEvent, frozen=True, kw_only=True, tag="step.retry_scheduled"):
    """The attempt is lost; another follows at `retry_at`."""

    track: str
    """`dispatch`: nobody acknowledged it. `execution`: the work failed or its lease ran out."""
    error: Fault
    retry_at: int
    result: StepResult | None = None


class StepFailed(StepEvent, frozen=True, kw_only=True, tag="step.failed"):
    """No attempt is left, or another could not help."""

    track: str
    error: Fault
    result: StepResult | None = None


class StepCancelled(Event, frozen=True, kw_only=True, tag="step.cancelled"):
    """The job ended before this step did."""

    step_id: str


class JobPausing(Event, frozen=True, kw_only=True, tag="job.pausing"):
    """Nothing new starts; the step in flight may finish."""


class JobPaused(Event, frozen=True, kw_only=True, tag="job.paused"):
    """Nothing is in flight and no clock runs."""


class JobResumed(Event, frozen=True, kw_only=True, tag="job.resumed"):
    """The job goes on at its next open step; its clocks run again."""

    paused_for: int


class JobCancelling(Event, frozen=True, kw_only=True, tag="job.cancelling"):
    """A cancel waits for the step in flight."""

    reason: str | None = None


class JobCancelled(Event, frozen=True, kw_only=True, tag="job.cancelled"):
    """Terminal."""

    reason: str | None = None


class JobSucceeded(Event, frozen=True, kw_only=True, tag="job.succeeded"):
    """Terminal."""

    final_output: Ref


class JobFailed(Event, frozen=True, kw_only=True, tag="job.failed"):
    """Terminal."""

    error: Fault


class ReplyRefused(Event, frozen=True, kw_only=True, tag="reply.refused"):
    """A reply came that changes nothing; this is its only trace."""

    reply: str
    verdict: str
    step_id: str
    attempt_no: int
    lease_id: str


AnyEvent = (
    JobAccepted
    | AttemptCreated
    | DirectivePublished
    | DirectiveRequeued
    | AckWaitExtended
    | StepAcknowledged
    | LeaseExtended
    | StepSucceeded
    | StepRetryScheduled
    | StepFailed
    | StepCancelled
    | JobPausing
    | JobPaused
    | JobResumed
    | JobCancelling
    | JobCancelled
    | JobSucceeded
    | JobFailed
    | ReplyRefused
)


def tag(event: type[Event]) -> str:
    """The public name of a kind of event."""
    return str(event.__struct_config__.tag)


def kind(event: Event) -> str:
    """The public name of an event."""
    return tag(type(event))
