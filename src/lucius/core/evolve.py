"""What an event does to a job. The only writer of job and step fields.

`evolve` refuses every move that the table in `states.py` does not have, so a bug in `decide` raises
instead of being stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lucius.core import events as ev
from lucius.core.job import Attempt, Job, Order, Step
from lucius.core.states import JOB_TRANSITIONS, STEP_TRANSITIONS, JobState, StepState
from lucius.core.timing import PUBLISH_GRACE
from lucius.errors import Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def blank(order: Order) -> Job:
    """A job before its first event."""
    at = order.accepted_at
    return Job(
        order=order,
        state=JobState.QUEUED,
        version=0,
        updated_at=at,
        steps=tuple(_blank_step(order, index, at) for index in range(len(order.protocol.steps))),
    )


def _blank_step(order: Order, index: int, at: int) -> Step:
    step_id = order.protocol.steps[index].step_id
    if index < order.start_index:
        return Step(
            step_id=step_id, index=index, state=StepState.SUCCEEDED, created_at=at, updated_at=at,
            completed_at=at, result=order.inherited[index],
        )  # fmt: skip
    return Step(step_id=step_id, index=index, state=StepState.PENDING, created_at=at, updated_at=at)


def evolve(job: Job, event: ev.Event) -> Job:
    """The job after the event."""
    if event.seq != job.version + 1:
        message = f"job {job.job_id}: event {event.seq} cannot follow version {job.version}"
        raise Broken(message)
    return _APPLY[type(event)](job, event)


def replay(order: Order, events: Iterable[ev.Event]) -> Job:
    """The job that these events add up to."""
    job = blank(order)
    for event in events:
        job = evolve(job, event)
    return job


def natural_state(job: Job) -> JobState:
    """The running state that the steps of a job imply: where it stands when nobody pauses it."""
    own = job.steps[job.order.start_index :]
    if any(s.execution_failures or s.result or (s.attempt and s.attempt.acked_at) for s in own):
        return JobState.IN_PROGRESS
    if any(s.dispatch_failures or (s.attempt and s.attempt.published_at) for s in own):
        return JobState.DISPATCHING
    return JobState.QUEUED


def _move_job(job: Job, event: ev.Event, state: JobState, **changes: Any) -> Job:
    if state is not job.state and (job.state, state) not in _JOB_MOVES[type(event)]:
        message = f"job {job.job_id}: {ev.kind(event)} may not move {job.state} to {state}"
        raise Broken(message)
    return replace(job, state=state, version=event.seq, updated_at=event.at, **changes)


def _with_step(job: Job, event: ev.Event, step: Step, state: StepState, **changes: Any) -> tuple[Step, ...]:
    if state is not step.state and (step.state, state) not in _STEP_MOVES[type(event)]:
        message = (
            f"job {job.job_id} step {step.step_id}: {ev.kind(event)} may not move {step.state} to {state}"
        )
        raise Broken(message)
    new = replace(step, state=state, updated_at=event.at, **changes)
    return job.steps[: step.index] + (new,) + job.steps[step.index + 1 :]  # noqa: RUF005  half the time


def _find(job: Job, step_id: str) -> Step:
    step = job.step(step_id)
    if step is None:
        message = f"job {job.job_id} has no step {step_id!r}"
        raise Broken(message)
    return step


def _attempt(step: Step) -> Attempt:
    if step.attempt is None:
        message = f"step {step.step_id} has no attempt"
        raise Broken(message)
    return step.attempt


def _on_accepted(job: Job, event: ev.JobAccepted) -> Job:
    return _move_job(job, event, job.state, deadline_at=event.deadline_at)


def _on_attempt(job: Job, event: ev.AttemptCreated) -> Job:
    attempt = Attempt(
        attempt_no=event.attempt_no,
        lease_id=event.lease_id,
        created_at=event.at,
        lease_expires_at=event.lease_expires_at,
        publish_due_at=event.publish_due_at,
        dispatch_deadline_at=event.dispatch_deadline_at,
    )
    steps = _with_step(
        job, event, _find(job, event.step_id), StepState.DISPATCHING,
        attempt=attempt, retry_at=None, result=None, progress=None, progress_message=None,
    )  # fmt: skip
    return _move_job(job, event, job.state, steps=steps)


def _on_published(job: Job, event: ev.DirectivePublished) -> Job:
    step = _find(job, event.step_id)
    old = _attempt(step)
    attempt = replace(old, published_at=old.published_at or event.at, ack_due_at=event.ack_due_at)
    steps = _with_step(job, event, step, StepState.AWAITING_ACK, attempt=attempt)
    state = JobState.DISPATCHING if job.state is JobState.QUEUED else job.state
    return _move_job(job, event, state, steps=steps)


def _on_requeued(job: Job, event: ev.DirectiveRequeued) -> Job:
    step = _find(job, event.step_id)
    attempt = replace(_attempt(step), publish_tries=event.publish_tries, publish_due_at=event.publish_due_at)
    error = event.error or step.last_error
    return _move_job(
        job,
        event,
        job.state,
        steps=_with_step(job, event, step, step.state, attempt=attempt, last_error=error),
    )


def _on_waiting(job: Job, event: ev.AckWaitExtended) -> Job:
    step = _find(job, event.step_id)
    attempt = replace(_attempt(step), ack_due_at=event.ack_due_at)
    return _move_job(job, event, job.state, steps=_with_step(job, event, step, step.state, attempt=attempt))


def _on_acknowledged(job: Job, event: ev.StepAcknowledged) -> Job:
    step = _find(job, event.step_id)
    old = _attempt(step)
    attempt = replace(
        old, acked_at=event.at, published_at=old.published_at or event.at, ack_due_at=None,
        lease_expires_at=event.lease_expires_at,
    )  # fmt: skip
    steps = _with_step(
        job, event, step, StepState.IN_PROGRESS, attempt=attempt, retry_at=None, **_taken_back(step, old)
    )
    state = job.state
    if state in (JobState.QUEUED, JobState.DISPATCHING):
        state = JobState.IN_PROGRESS
    elif state is JobState.PAUSED:
        state = JobState.PAUSING  # it was in flight after all; pause again when it is over
    return _move_job(job, event, state, steps=steps)


def _taken_back(step: Step, attempt: Attempt) -> dict[str, int]:
    """The clock gave this attempt up too soon: what that cost is given back, or it would count twice."""
    if step.state is not StepState.FAILED_RETRY:
        return {}
    if attempt.acked_at is None:
        return {"dispatch_failures": step.dispatch_failures - 1}
    return {"execution_failures": step.execution_failures - 1}


def _on_heartbeat(job: Job, event: ev.LeaseExtended) -> Job:
    step = _find(job, event.step_id)
    attempt = replace(_attempt(step), lease_expires_at=event.lease_expires_at)
    steps = _with_step(
        job, event, step, step.state, attempt=attempt,
        progress=step.progress if event.progress is None else event.progress,
        progress_message=event.message or step.progress_message,
    )  # fmt: skip
    return _move_job(job, event, job.state, steps=steps)


def _on_succeeded(job: Job, event: ev.StepSucceeded) -> Job:
    steps = _with_step(
        job, event, _find(job, event.step_id), StepState.SUCCEEDED, result=event.result, completed_at=event.at
    )
    return _move_job(job, event, job.state, steps=steps)


def _on_retry(job: Job, event: ev.StepRetryScheduled) -> Job:
    steps = _lost(job, event, StepState.FAILED_RETRY, retry_at=event.retry_at)
    return _move_job(job, event, job.state, steps=steps)


def _on_failed(job: Job, event: ev.StepFailed) -> Job:
    steps = _lost(job, event, StepState.FAILED_FINAL, retry_at=None, completed_at=event.at)
    return _move_job(job, event, job.state, steps=steps)


def _lost(
    job: Job, event: ev.StepRetryScheduled | ev.StepFailed, state: StepState, **changes: Any
) -> tuple[Step, ...]:
    step = _find(job, event.step_id)
    return _with_step(
        job, event, step, state, result=event.result, last_error=event.error,
        dispatch_failures=step.dispatch_failures + (event.track == "dispatch"),
        execution_failures=step.execution_failures + (event.track == "execution"), **changes,
    )  # fmt: skip


def _on_step_cancelled(job: Job, event: ev.StepCancelled) -> Job:
    steps = _with_step(
        job, event, _find(job, event.step_id), StepState.CANCELLED, completed_at=event.at, retry_at=None
    )
    return _move_job(job, event, job.state, steps=steps)


def _on_paused(job: Job, event: ev.JobPaused) -> Job:
    return _move_job(job, event, JobState.PAUSED, paused_at=job.paused_at or event.at)


def _on_resumed(job: Job, event: ev.JobResumed) -> Job:
    deadline = job.deadline_at + event.paused_for if job.deadline_at is not None else None
    steps = tuple(_unfrozen(step, event) for step in job.steps)
    job = replace(job, steps=steps)
    return _move_job(job, event, natural_state(job), deadline_at=deadline, paused_at=None)


def _unfrozen(step: Step, event: ev.JobResumed) -> Step:
    if step.state is StepState.FAILED_RETRY:  # it has waited long enough
        return replace(step, retry_at=event.at, updated_at=event.at)
    if step.state is not StepState.DISPATCHING:
        return step
    old = _attempt(step)
    attempt = replace(
        old,
        dispatch_deadline_at=old.dispatch_deadline_at + event.paused_for,
        publish_due_at=event.at + PUBLISH_GRACE,
    )
    return replace(step, attempt=attempt, updated_at=event.at)


def _on_cancelled(job: Job, event: ev.JobCancelled) -> Job:
    requested = job.cancel_requested_at or event.at
    return _move_job(job, event, JobState.CANCELLED, completed_at=event.at, cancel_requested_at=requested)


def _on_job_succeeded(job: Job, event: ev.JobSucceeded) -> Job:
    return _move_job(job, event, JobState.SUCCEEDED, completed_at=event.at, final_output=event.final_output)


def _on_job_failed(job: Job, event: ev.JobFailed) -> Job:
    return _move_job(job, event, JobState.FAILED_FINAL, completed_at=event.at, error=event.error)


_APPLY: dict[type[ev.Event], Callable[[Job, Any], Job]] = {
    ev.JobAccepted: _on_accepted,
    ev.AttemptCreated: _on_attempt,
    ev.DirectivePublished: _on_published,
    ev.DirectiveRequeued: _on_requeued,
    ev.AckWaitExtended: _on_waiting,
    ev.StepAcknowledged: _on_acknowledged,
    ev.LeaseExtended: _on_heartbeat,
    ev.StepSucceeded: _on_succeeded,
    ev.StepRetryScheduled: _on_retry,
    ev.StepFailed: _on_failed,
    ev.StepCancelled: _on_step_cancelled,
    ev.JobPausing: lambda job, event: _move_job(job, event, JobState.PAUSING, paused_at=event.at),
    ev.JobPaused: _on_paused,
    ev.JobResumed: _on_resumed,
    ev.JobCancelling: lambda job, event: _move_job(
        job, event, JobState.CANCELLING, cancel_requested_at=event.at
    ),
    ev.JobCancelled: _on_cancelled,
    ev.JobSucceeded: _on_job_succeeded,
    ev.JobFailed: _on_job_failed,
    # The only trace of a refused reply is its number: not even `updated_at` moves.
    ev.ReplyRefused: lambda job, event: replace(job, version=event.seq),
}

#: The table by event class: what is asked for on every change should not be spelled out each time.
_JOB_MOVES = {event: JOB_TRANSITIONS.get(ev.tag(event), frozenset()) for event in _APPLY}
_STEP_MOVES = {event: STEP_TRANSITIONS.get(ev.tag(event), frozenset()) for event in _APPLY}
