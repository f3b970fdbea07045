"""The sentences of an explanation: what blocks a job, and what happens next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from lucius.core.states import ACTIVE_STEP, JobState, StepState

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.job import Job, Step

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000

Kind = Literal[
    "terminal",
    "paused",
    "pausing",
    "cancelling",
    "waiting_for_bus",
    "waiting_for_service",
    "in_progress",
    "waiting_for_retry",
    "not_before",
    "starting",
    "waiting_for_workflow",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_ACTIONS: dict[Kind, str] = {
    "terminal": "none: terminal states never change",
    "paused": "none until somebody resumes or cancels the job",
    "pausing": "pause as soon as the step in flight is over",
    "cancelling": "cancel as soon as the step in flight is over or its lease ends",
    "waiting_for_bus": "publish the directive; the same attempt and lease go out again if need be",
    "waiting_for_service": "try again with a new attempt if nobody acknowledges it in time",
    "in_progress": "wait for the result; try again if the lease ends without one",
    "waiting_for_retry": "start the next attempt when its time has come",
    "not_before": "start the first step when its time has come",
    "starting": "start the next step",
    "waiting_for_workflow": (
        "start the attempt when its workflow asks; late workflows are nudged, lost ones started. If that is "
        "no help: does Temporal answer (/readyz), does a temporal worker run, does it reach the invoker?"
    ),
}


def action_of(kind: Kind) -> str:
    """What Lucius does next, in words."""
    return _ACTIONS[kind]


def because_of(job: Job, kind: Kind, now: int) -> str:
    """One sentence for people."""
    step = next((s for s in job.steps if s.state in ACTIVE_STEP), job.steps[job.current_index])
    return _SENTENCES[kind](job, step, now)


def duration(milliseconds: int) -> str:
    """A span of time as people say it."""
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (_SECOND, "s")):
        if milliseconds >= unit:
            return f"{milliseconds // unit} {name}"
    return "less than a second"


def _terminal(job: Job, _step: Step, _now: int) -> str:
    if job.state is JobState.SUCCEEDED:
        steps = len(job.steps)
        return f"All {steps} steps have succeeded." if steps > 1 else "Its one step has succeeded."
    if job.state is JobState.CANCELLED:
        return "The job was cancelled."
    why = f": {job.error.code}" if job.error else ""
    return f"The job failed for good at step {_step.step_id}{why}. It can be retried as a new job."


def _bus(_job: Job, step: Step, _now: int) -> str:
    attempt = step.attempt
    tries = f" (tried {attempt.publish_tries} times)" if attempt and attempt.publish_tries else ""
    return f"The directive of step {step.step_id} is durable and waits for the bus to take it{tries}."


def _service(job: Job, step: Step, now: int) -> str:
    recipe = job.order.protocol.steps[step.index]
    published = step.attempt.published_at if step.attempt else None
    since = f" for {duration(now - published)}" if published is not None else ""
    return f"The directive of step {step.step_id} has waited{since} for {recipe.service} to take it."


def _work(job: Job, step: Step, now: int) -> str:
    recipe = job.order.protocol.steps[step.index]
    share = f" ({step.progress:.0%} done)" if step.progress is not None else ""
    ends = step.attempt.lease_expires_at if step.attempt else now
    lease = f"its lease ends in {duration(ends - now)}" if ends > now else "its lease has ended"
    return f"{recipe.service} is at work on step {step.step_id}{share}; {lease}."


def _retry(_job: Job, step: Step, now: int) -> str:
    why = f" after {step.last_error.code}" if step.last_error else ""
    due = step.retry_at is not None and step.retry_at > now
    when = f"in {duration((step.retry_at or now) - now)}" if due else "now"
    return f"Step {step.step_id} gets another attempt {when}{why}."


def _later(job: Job, _step: Step, now: int) -> str:
    return f"The job was asked to start later; it starts in {duration((job.order.not_before or now) - now)}."


def _workflow(job: Job, step: Step, now: int) -> str:
    waited = now - ready_since(job, step)
    ready = f"has been ready for {duration(waited)}" if waited >= _SECOND else "is ready"
    return f"Step {step.step_id} {ready}; its workflow has not asked for an attempt yet."


def ready_since(job: Job, step: Step) -> int:
    """Since when nothing but its driver holds this step back."""
    if step.state is StepState.FAILED_RETRY and step.retry_at is not None:
        return step.retry_at
    return max(job.updated_at, job.order.not_before or 0)


_SENTENCES: dict[Kind, Callable[[Job, Step, int], str]] = {
    "terminal": _terminal,
    "paused": lambda _job, step, _now: f"The job is paused before or at step {step.step_id}.",
    "pausing": lambda _job, step, _now: f"A pause waits for step {step.step_id}, which is in flight.",
    "cancelling": lambda _job, step, _now: f"A cancel waits for step {step.step_id}, which is in flight.",
    "waiting_for_bus": _bus,
    "waiting_for_service": _service,
    "in_progress": _work,
    "waiting_for_retry": _retry,
    "not_before": _later,
    "starting": lambda _job, step, _now: f"Step {step.step_id} is next and starts with the next sweep.",
    "waiting_for_workflow": _workflow,
}
