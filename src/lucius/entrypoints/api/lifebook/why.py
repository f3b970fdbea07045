"""Why a run stands where it stands, and what happens next: one or two sentences for people. Pure."""

from __future__ import annotations

from collections.abc import Callable

from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.core.wallet import shown
from lucius.security.redaction import redact_text
from lucius.wire.timestamps import iso


def why(run: Run, now: int) -> str:
    """The sentence; free text of others in it is redacted."""
    return redact_text(_WORDS[run.status](run, now).rstrip())


def _pending(run: Run, _now: int) -> str:
    return f"The run is recorded, and its message is not known to be in the queue yet; {_again(run)}."


def _queued(run: Run, _now: int) -> str:
    if run.continued:
        return (
            f"A worker stopped or ran out of time and handed the run on; another one goes on with "
            f"{_step(run)}, still in attempt {run.attempts} of {run.max_attempts}. "
            f"If nobody takes its message, {_again(run)}."
        )
    return (
        f"Its message waits in the queue for a worker, who will begin with {_step(run)}. "
        f"If nobody takes it, {_again(run)}."
    )


def _running(run: Run, now: int) -> str:
    if run.lock is None:
        return f"A worker runs {_step(run)}."
    tried = f"attempt {run.attempts} of {run.max_attempts}"
    if run.lock.expires_at > now:
        return (
            f"The worker {run.lock.owner} runs {_step(run)} ({tried}); it holds the run until "
            f"{iso(run.lock.expires_at)}, and longer with each sign of life."
        )
    return (
        f"The worker {run.lock.owner} has shown no sign of life in {_step(run)} ({tried}) and holds the run "
        f"no longer since {iso(run.lock.expires_at)}; another worker takes the same step when the message "
        f"comes back, and {_again(run)}."
    )


def _failed(run: Run, _now: int) -> str:
    when = "when its message comes back" if run.next_attempt_at is None else f"at {iso(run.next_attempt_at)}"
    return (
        f"Attempt {run.attempts} of {run.max_attempts} failed in {_step(run)}{_error(run)}. "
        f"The next one begins with the same step, {when} or soon after."
    )


def _completed(run: Run, _now: int) -> str:
    return (
        f"All {run.steps_total} steps are done, for {shown(run.credits_spent)} of "
        f"{shown(run.credits_estimate)} credits. {_kept(run)}"
    )


def _dead(run: Run, _now: int) -> str:
    return (
        f"The run failed for good in {_step(run)}, in attempt {run.attempts} of {run.max_attempts}"
        f"{_error(run)}. Its message goes to the dead letters; a retry makes a new run. {_kept(run)}"
    )


def _canceled(run: Run, _now: int) -> str:
    said = f": {run.last_error_message}" if run.last_error_message else ""
    return (
        f"The run was canceled before {_step(run)} was done{said}. It spent "
        f"{shown(run.credits_spent)} of {shown(run.credits_estimate)} credits, the rest is free again; "
        f"a retry makes a new run. {_kept(run)}"
    )


def _step(run: Run) -> str:
    if not run.steps:  # an item of somebody else's making
        return "its first step"
    index = min(run.step_cursor, run.steps_total - 1)
    return f"step {index + 1} of {run.steps_total} ({run.steps[index].name})"


def _error(run: Run) -> str:
    said = [text for text in (run.last_error_code, run.last_error_message) if text]
    return " with " + ": ".join(said) if said else ""


def _again(run: Run) -> str:
    when = "soon" if run.due_at is None else f"after {iso(run.due_at)}"
    return f"the sweeper sends another message {when}"


def _kept(run: Run) -> str:
    return "" if run.ttl_at is None else f"The record stays until {iso(run.ttl_at * 1000)}."


_WORDS: dict[Status, Callable[[Run, int], str]] = {
    Status.PENDING: _pending,
    Status.QUEUED: _queued,
    Status.RUNNING: _running,
    Status.FAILED: _failed,
    Status.COMPLETED: _completed,
    Status.DEAD: _dead,
    Status.CANCELED: _canceled,
}
