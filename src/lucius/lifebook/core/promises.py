"""What holds of every run at every moment, whoever wrote it last: one list for tests, simulations, `verify`.

`decide` keeps all of it; a run that breaks one was written by something else, or by a mistake of ours.
"""

from __future__ import annotations

from collections.abc import Callable

from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status

_CONTINUED = frozenset({Status.QUEUED, Status.COMPLETED, Status.DEAD, Status.CANCELED})


def broken(run: Run) -> list[str]:
    """The promises that this run breaks, each as the end of a sentence that begins with the run."""
    return [text for text, kept in _PROMISES if not kept(run)]


def _covered(run: Run) -> bool:
    return 0 <= run.credits_spent <= sum(step.credits for step in run.steps[: run.step_cursor])


def _made(run: Run) -> bool:
    return run.artifacts.keys() <= {step.name for step in run.steps[: run.step_cursor]}


_PROMISES: tuple[tuple[str, Callable[[Run], bool]], ...] = (
    ("has attempts from 0 to max_attempts", lambda run: 0 <= run.attempts <= run.max_attempts),
    ("has its cursor inside its steps", lambda run: 0 <= run.step_cursor <= run.steps_total),
    (
        "is past its last step if and only if it completed",
        lambda run: (run.step_cursor == run.steps_total) == (run.status is Status.COMPLETED),
    ),
    (
        "has a lock if and only if it is running",
        lambda run: (run.lock is not None) == (run.status is Status.RUNNING),
    ),
    (
        "waits for a next attempt if and only if it failed",
        lambda run: (run.next_attempt_at is not None) == (run.status is Status.FAILED),
    ),
    ("is due some day if and only if it is open", lambda run: (run.due_at is None) == run.terminal),
    ("has ttl_at if and only if it has ended", lambda run: (run.ttl_at is not None) == run.terminal),
    (
        "has completed_at if and only if it has ended",
        lambda run: (run.completed_at is not None) == run.terminal,
    ),
    (
        "has started_at if and only if it was attempted",
        lambda run: (run.started_at is not None) == (run.attempts > 0),
    ),
    ("has spent no more than its finished steps cost", _covered),
    (
        "was estimated at the sum of its steps",
        lambda run: run.credits_estimate == sum(s.credits for s in run.steps),
    ),
    (
        "reserves its estimate while it is open, and nothing after",
        lambda run: run.credits_reserved == (0 if run.terminal else run.credits_estimate),
    ),
    ("has artifacts of finished steps only", _made),
    ("is handed on only while it is queued", lambda run: not run.continued or run.status in _CONTINUED),
    ("counts its messages from 1", lambda run: run.sends >= 1 and run.version >= 1 and run.crashes >= 0),
    ("never goes back in time", lambda run: run.created_at <= run.updated_at),
)
