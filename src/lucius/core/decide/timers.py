"""What time and the bus bring: publishing, timeouts, retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide.draft import Draft, Verdict
from lucius.core.decide.progress import (
    cancel_open_steps,
    create_attempt,
    fail_step,
    finish_cancel,
    lose_attempt,
    settle,
)
from lucius.core.job import Fault
from lucius.core.states import ACTIVE_STEP, RUNNING_JOB, JobState, StepState
from lucius.core.timing import backoff

if TYPE_CHECKING:
    from lucius.core.job import Attempt, Step

LONGEST_WAIT = 10
"""ACK timeouts between two looks at a directive that waits behind others."""
ACK_TIMEOUT = Fault(code="ACK_TIMEOUT", message="No service acknowledged the directive in time.")
LEASE_EXPIRED = Fault(code="LEASE_EXPIRED", message="The service stopped reporting before it was done.")
DISPATCH_DEADLINE = Fault(
    code="DISPATCH_DEADLINE", message="The bus did not take the directive before the dispatch deadline."
)
GAVE_UP = "ENGINE_GAVE_UP"
DEADLINE = Fault(code="DEADLINE_EXCEEDED", message="The job took longer than its protocol allows.")


def published(draft: Draft, command: cmd.Published) -> Verdict:
    """The bus has the directive; from now on somebody should pick it up."""
    step = _current(draft, command.step_id, command.attempt_no)
    if step is None:
        return Verdict.STALE_LEASE
    again = step.state is StepState.AWAITING_ACK and not draft.job.terminal
    first = step.state is StepState.DISPATCHING and draft.job.state in RUNNING_JOB
    if not (first or again):
        return Verdict.DUPLICATE
    recipe = draft.job.order.protocol.steps[step.index]
    draft.emit(
        ev.DirectivePublished, step_id=step.step_id, attempt_no=command.attempt_no,
        ack_due_at=draft.now + recipe.ack_timeout,
    )  # fmt: skip
    return Verdict.ACCEPTED


def publish_failed(draft: Draft, command: cmd.PublishFailed) -> Verdict:
    """The bus is away: the same bytes again later. This never costs an attempt."""
    step = _current(draft, command.step_id, command.attempt_no)
    if step is None or step.attempt is None:
        return Verdict.STALE_LEASE
    if step.state is not StepState.DISPATCHING or draft.job.state not in RUNNING_JOB:
        return Verdict.DUPLICATE
    recipe = draft.job.order.protocol.steps[step.index]
    tries = step.attempt.publish_tries + 1
    wait = backoff(recipe.publish_backoff, tries, recipe.jitter, draft.chance.spread)
    draft.emit(
        ev.DirectiveRequeued, step_id=step.step_id, attempt_no=command.attempt_no, publish_tries=tries,
        publish_due_at=draft.now + wait, error=command.error,
    )  # fmt: skip
    return Verdict.ACCEPTED


def tick(draft: Draft, command: cmd.Tick) -> Verdict:
    """Do everything that is due by now."""
    job = draft.job
    if job.terminal or job.state is JobState.PAUSED:
        return Verdict.DUPLICATE
    if job.deadline_at is not None and job.paused_at is None and draft.now >= job.deadline_at:
        _end(draft, "deadline", DEADLINE)
    for index in range(len(job.steps)):
        if draft.job.terminal:
            break
        step = draft.job.steps[index]
        if step.attempt is not None and step.state in ACTIVE_STEP:
            _tick_step(draft, step, step.attempt, held=step.step_id in command.held)
    settle(draft)
    return Verdict.ACCEPTED if draft.events else Verdict.DUPLICATE


def _tick_step(draft: Draft, step: Step, attempt: Attempt, *, held: bool) -> None:
    now, running = draft.now, draft.job.state in RUNNING_JOB
    if step.state is StepState.IN_PROGRESS:
        if now >= attempt.lease_expires_at:
            lose_attempt(draft, step, "execution", LEASE_EXPIRED)
    elif step.state is StepState.AWAITING_ACK:
        if attempt.ack_due_at is not None and now >= attempt.ack_due_at:
            _ack_overdue(draft, step, attempt, held=held)
    elif step.state is StepState.DISPATCHING and running:
        _unsent(draft, step, attempt)
    elif (
        step.state is StepState.FAILED_RETRY
        and running
        and step.retry_at is not None
        and now >= step.retry_at
    ):
        create_attempt(draft, step)


def _ack_overdue(draft: Draft, step: Step, attempt: Attempt, *, held: bool) -> None:
    # What is being cancelled is not worth waiting for: nobody has begun it.
    if held and draft.job.state is not JobState.CANCELLING:
        draft.emit(
            ev.AckWaitExtended, step_id=step.step_id, attempt_no=attempt.attempt_no,
            ack_due_at=draft.now + _patience(draft, step, attempt),
        )  # fmt: skip
    else:
        lose_attempt(draft, step, "dispatch", ACK_TIMEOUT)


def _patience(draft: Draft, step: Step, attempt: Attempt) -> int:
    """Half of what it has waited already, within bounds: a long backlog should not fill the history."""
    timeout = draft.job.order.protocol.steps[step.index].ack_timeout
    waited = draft.now - (attempt.published_at or draft.now)
    return min(max(timeout, waited // 2), LONGEST_WAIT * timeout)


def _unsent(draft: Draft, step: Step, attempt: Attempt) -> None:
    if draft.now >= attempt.dispatch_deadline_at:
        fail_step(draft, step, "dispatch", DISPATCH_DEADLINE)
    elif draft.now >= attempt.publish_due_at:
        recipe = draft.job.order.protocol.steps[step.index]
        wait = backoff(recipe.publish_backoff, attempt.publish_tries, recipe.jitter, draft.chance.spread)
        draft.emit(
            ev.DirectiveRequeued, step_id=step.step_id, attempt_no=attempt.attempt_no,
            publish_tries=attempt.publish_tries, publish_due_at=draft.now + wait,
        )  # fmt: skip
        draft.republish.append(step.index)


def give_up(draft: Draft, command: cmd.GiveUp) -> Verdict:
    """Nothing drives this job any more, so it ends here, whatever it was waiting for."""
    if draft.job.terminal:
        return Verdict.DUPLICATE
    _end(draft, "engine", Fault(code=GAVE_UP, message=command.reason))
    return Verdict.ACCEPTED


def _end(draft: Draft, track: str, error: Fault) -> None:
    if draft.job.state is JobState.CANCELLING:
        finish_cancel(draft, None)
        return
    for step in draft.job.steps:
        if step.state in ACTIVE_STEP:
            fail_step(draft, step, track, error)
            return
    cancel_open_steps(draft)
    draft.emit(ev.JobFailed, error=error)


def _current(draft: Draft, step_id: str, attempt_no: int) -> Step | None:
    step = draft.job.step(step_id)
    if step is None or step.attempt is None or step.attempt.attempt_no != attempt_no:
        return None
    return step
