"""Backoff, and the one wake-up time of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.states import IN_FLIGHT_STEP, RUNNING_JOB, JobState, StepState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lucius.core.job import Job, Step

_SUCCEEDED = StepState.SUCCEEDED
PUBLISH_GRACE = 2_000
"""How long the fast path may take to start or to publish before a sweep looks into it."""


def backoff(schedule: Sequence[int], failures: int, jitter: float, spread: float) -> int:
    """Milliseconds to wait after the given number of failures; `spread` in [0, 1) moves it by ±jitter."""
    base = schedule[min(max(failures, 1), len(schedule)) - 1] if schedule else 0
    return max(0, round(base * (1 + jitter * (2 * spread - 1))))


def due_at(job: Job) -> int | None:
    """When this job next needs a `Tick`: the nearest of all its timers, or None if no clock runs."""
    if job.terminal or job.state is JobState.PAUSED:
        return None
    running = job.state in RUNNING_JOB
    # A pause stops the deadline, and what is being cancelled has only its step in flight to wait for.
    nearest = job.deadline_at if job.paused_at is None and job.state is not JobState.CANCELLING else None
    for step in job.steps:
        if step.state is _SUCCEEDED:
            continue
        timer = _timer(job, step, running=running)
        if timer is not None and (nearest is None or timer < nearest):
            nearest = timer
    return nearest


def _timer(job: Job, step: Step, *, running: bool) -> int | None:
    state, attempt = step.state, step.attempt
    if attempt is None:
        ready = running and state is StepState.PENDING and step.index == job.current_index
        return _start(job) if ready else None
    if state is StepState.IN_PROGRESS:
        return attempt.lease_expires_at
    if state is StepState.AWAITING_ACK:
        return attempt.ack_due_at
    if not running:
        return None
    if state is StepState.DISPATCHING:
        return min(attempt.publish_due_at, attempt.dispatch_deadline_at)
    return step.retry_at if state is StepState.FAILED_RETRY else None


def _start(job: Job) -> int:
    """When a step that is ready should have begun. Whoever drives the job has a moment to begin it."""
    later = job.order.not_before
    return later if later is not None and later > job.updated_at else job.updated_at + PUBLISH_GRACE


def in_flight(job: Job) -> bool:
    """True while some service may be at work for this job."""
    return any(step.state in IN_FLIGHT_STEP for step in job.steps)
