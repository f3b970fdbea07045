"""What follows: the next step, another attempt, the end of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core import events as ev
from lucius.core.job import Fault
from lucius.core.protocol import stage_of
from lucius.core.states import RUNNING_JOB, TERMINAL_STEP, JobState, StepState
from lucius.core.timing import PUBLISH_GRACE, backoff, in_flight

if TYPE_CHECKING:
    from lucius.core.decide.draft import Draft
    from lucius.core.job import Step, StepResult


def settle(draft: Draft) -> None:
    """Bring the job to rest: finish a cancel or a pause, end it, or start what may start."""
    job = draft.job
    if job.terminal:
        return
    if job.state is JobState.CANCELLING:
        if not in_flight(job):
            finish_cancel(draft, None)
    elif job.steps[job.current_index].state is StepState.SUCCEEDED:  # then all of them are
        last = job.steps[-1].result
        draft.emit(ev.JobSucceeded, final_output=(last.output_ref if last else None) or job.order.output_ref)
    elif job.state is JobState.PAUSING:
        if not in_flight(job):
            draft.emit(ev.JobPaused)
    elif job.state in RUNNING_JOB:
        start_ready(draft)


def start_ready(draft: Draft) -> None:
    """Create attempts for the pending steps of the current stage."""
    order = draft.job.order
    if order.not_before is not None and draft.now < order.not_before:
        return
    for index in stage_of(order.protocol, draft.job.current_index):
        if draft.job.steps[index].state is StepState.PENDING:
            create_attempt(draft, draft.job.steps[index])


def create_attempt(draft: Draft, step: Step) -> None:
    """One more try, with a lease of its own, if this decision may draw one."""
    if not draft.chance.lease_id:
        return
    order = draft.job.order
    recipe = order.protocol.steps[step.index]
    draft.emit(
        ev.AttemptCreated,
        step_id=step.step_id,
        attempt_no=(step.attempt.attempt_no if step.attempt else 0) + 1,
        lease_id=draft.next_lease(),
        lane=order.routing.lane,
        lease_expires_at=draft.now + recipe.lease,
        publish_due_at=draft.now + PUBLISH_GRACE,
        dispatch_deadline_at=draft.now + recipe.dispatch_deadline,
    )
    draft.created.append(step.index)


def lose_attempt(
    draft: Draft, step: Step, track: str, error: Fault, result: StepResult | None = None
) -> None:
    """The current attempt is over without success: try again later, or give up."""
    recipe = draft.job.order.protocol.steps[step.index]
    if track == "dispatch":
        failures, budget, schedule = step.dispatch_failures, recipe.max_dispatch_attempts, recipe.ack_backoff
    else:
        failures = step.execution_failures
        budget, schedule = recipe.max_execution_attempts, recipe.execution_backoff
    attempt_no = step.attempt.attempt_no if step.attempt else 0
    if draft.job.state is JobState.CANCELLING:
        draft.emit(ev.StepCancelled, step_id=step.step_id)
    elif failures + 1 >= budget:
        fail_step(draft, step, track, error, result)
        return
    else:
        wait = backoff(schedule, failures + 1, recipe.jitter, draft.chance.spread)
        draft.emit(
            ev.StepRetryScheduled, step_id=step.step_id, attempt_no=attempt_no, track=track, error=error,
            retry_at=draft.now + wait, result=result,
        )  # fmt: skip
    settle(draft)


def fail_step(draft: Draft, step: Step, track: str, error: Fault, result: StepResult | None = None) -> None:
    """No further attempt: the step fails and the job with it, unless a cancel was under way."""
    attempt_no = step.attempt.attempt_no if step.attempt else 0
    draft.emit(
        ev.StepFailed, step_id=step.step_id, attempt_no=attempt_no, track=track, error=error, result=result
    )
    if draft.job.state is JobState.CANCELLING:
        settle(draft)
        return
    cancel_open_steps(draft)
    draft.emit(ev.JobFailed, error=error)


def finish_cancel(draft: Draft, reason: str | None) -> None:
    """Nothing is waited for any more."""
    cancel_open_steps(draft)
    draft.emit(ev.JobCancelled, reason=reason)


def cancel_open_steps(draft: Draft) -> None:
    """A terminal job leaves no step behind."""
    for step in draft.job.steps:
        if step.state not in TERMINAL_STEP:
            draft.emit(ev.StepCancelled, step_id=step.step_id)
