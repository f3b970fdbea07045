"""What people ask: cancel, pause, resume. Asking twice is asking once."""

from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide.draft import Draft, Verdict
from lucius.core.decide.progress import create_attempt, finish_cancel, settle
from lucius.core.states import JobState, StepState
from lucius.core.timing import in_flight


def cancel(draft: Draft, command: cmd.Cancel) -> Verdict:
    """Stop: at once if nothing is in flight (or by force), else when the step in flight is over."""
    job = draft.job
    if job.state is JobState.CANCELLED:
        return Verdict.DUPLICATE
    if job.terminal:
        return _terminal(draft, "cancelled")
    if command.force or not in_flight(job):
        finish_cancel(draft, command.reason)
        return Verdict.ACCEPTED
    if job.state is JobState.CANCELLING:
        return Verdict.DUPLICATE
    draft.emit(ev.JobCancelling, reason=command.reason)
    return Verdict.ACCEPTED


def pause(draft: Draft, _: cmd.Pause) -> Verdict:
    """Start nothing new; paused when nothing is in flight."""
    job = draft.job
    if job.terminal:
        return _terminal(draft, "paused")
    if job.state is JobState.CANCELLING:
        return draft.refuse("JOB_CANCELLING", "The job is being cancelled and cannot be paused.")
    if job.state in (JobState.PAUSING, JobState.PAUSED):
        return Verdict.DUPLICATE
    draft.emit(ev.JobPausing if in_flight(job) else ev.JobPaused)
    return Verdict.ACCEPTED


def resume(draft: Draft, _: cmd.Resume) -> Verdict:
    """Go on: unsent directives are sent, steps that waited for a retry get it now."""
    job = draft.job
    if job.terminal:
        return _terminal(draft, "resumed")
    if job.state is JobState.CANCELLING:
        return draft.refuse("JOB_CANCELLING", "The job is being cancelled and cannot be resumed.")
    if job.state not in (JobState.PAUSING, JobState.PAUSED):
        return Verdict.DUPLICATE
    draft.emit(ev.JobResumed, paused_for=draft.now - job.paused_at if job.paused_at is not None else 0)
    for step in draft.job.steps:
        if step.state is StepState.DISPATCHING:
            draft.republish.append(step.index)
        elif step.state is StepState.FAILED_RETRY:
            create_attempt(draft, step)
    settle(draft)
    return Verdict.ACCEPTED


def _terminal(draft: Draft, verb: str) -> Verdict:
    message = f"The job is {draft.job.state} and cannot be {verb}; terminal states never change."
    return draft.refuse("JOB_TERMINAL", message)
