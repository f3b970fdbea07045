"""The workflows of the acceptance tests of lifebook runs, as worker processes load them.

Every step has five siblings and costs its own price. It writes down that it began, and how it ended, in the
file that DIARY names: one line each, on the disk before the step goes on, so that a kill takes none back.

    <job> <step 1 to 5> <attempt> <process> began | done | failed | stopped
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from lucius.lifebook.workflows import PoisonError, Registry, Step, StepContext, StepError, Workflow

STEPS = 5
PRICES = (101, 13, 7, 250, 29)
"""Hundredths; no two sums of neighbours are the same."""
LOOK = 0.005
PATIENCE = 60.0
"""A step that waits in vain ends all the same: its test has failed by then."""
SLOW = 0.3


def note(context: StepContext, what: str) -> None:
    """One line, and it stays."""
    line = f"{context.job_id} {context.step} {context.attempt} {os.getpid()} {what}\n"
    diary = os.open(os.environ["DIARY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(diary, line.encode())
        os.fsync(diary)
    finally:
        os.close(diary)


def good(context: StepContext) -> str:
    """A moment of work, as long as the environment says."""
    note(context, "began")
    time.sleep(float(os.environ.get("STEP_SECONDS", "0")))
    note(context, "done")
    return f"made://{context.step_key}"


def slow(context: StepContext) -> None:
    """Some work."""
    note(context, "began")
    time.sleep(SLOW)
    note(context, "done")


def gated(context: StepContext) -> None:
    """The first process that comes here waits for its gate, deaf to everything; later ones pass."""
    gate = Path(f"{os.environ['DIARY']}.{context.job_id}")
    try:
        gate.touch(exist_ok=False)  # before it is heard of: whoever kills it now has a gate to find
        first = True
    except FileExistsError:
        first = False
    note(context, "began")
    until = time.monotonic() + PATIENCE
    while first and gate.exists() and time.monotonic() < until:
        time.sleep(LOOK)
    note(context, "done")


def listening(context: StepContext) -> None:
    """Works until it is told to stop."""
    note(context, "began")
    context.token.wait(PATIENCE)
    note(context, "stopped")
    context.token.raise_if_stopped()


def flaky(context: StepContext) -> None:
    """Fails on the first attempt."""
    note(context, "began")
    if context.attempt == 1:
        note(context, "failed")
        raise StepError("not yet", code="NOT_YET")
    note(context, "done")


def failing(context: StepContext) -> None:
    """Fails always."""
    note(context, "began")
    note(context, "failed")
    raise StepError("never", code="NEVER")


def poison(context: StepContext) -> None:
    """Can never succeed."""
    note(context, "began")
    note(context, "failed")
    raise PoisonError("unreadable", code="UNREADABLE")


def five(name: str, *, max_attempts: int = 5, **odd: Callable[[StepContext], object]) -> Workflow:
    """Five steps, good ones but for those named: `step3=poison`."""
    steps = (
        Step(str(number), odd.get(f"step{number}", good), credits=PRICES[number - 1])
        for number in range(1, STEPS + 1)
    )
    return Workflow(name, tuple(steps), max_attempts)


registry = Registry(
    [
        five("steady"),
        five("flaky", step2=flaky),
        five("poison", step3=poison),
        five("failing", step2=failing, max_attempts=2),
        five("gated", step3=gated),
        five("draining", step2=gated, step3=slow, step4=slow, step5=slow),
        five("listening", step2=listening),
    ]
)
