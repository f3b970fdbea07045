"""The workflows of the Lambda tests, as they travel in its zip file. Steps write down that they ran."""

from __future__ import annotations

import os
from pathlib import Path

from lucius.lifebook.workflows import Registry, Step, StepContext, StepError, Workflow


def note(context: StepContext) -> str:
    """One line for each execution."""
    with Path(os.environ["DIARY"]).open("a") as diary:
        diary.write(f"{context.job_id} {context.step} {context.attempt}\n")
    return f"made://{context.step_key}"


def fails_once(context: StepContext) -> str:
    """On the first attempt."""
    made = note(context)
    if context.attempt == 1:
        raise StepError("not yet", code="NOT_YET")
    return made


def fails(context: StepContext) -> None:
    """Always."""
    note(context)
    raise StepError("never", code="NEVER")


def dies_once(context: StepContext) -> str:
    """Takes its whole process along, on the first attempt."""
    made = note(context)
    if context.attempt == 1:
        os._exit(1)
    return made


def _steps(*functions: object) -> tuple[Step, ...]:
    return tuple(Step(f"step-{at + 1}", run, credits=100) for at, run in enumerate(functions))  # type: ignore[arg-type]


registry = Registry(
    [
        Workflow("good", _steps(note, note, note)),
        Workflow("flaky", _steps(note, fails_once, note)),
        Workflow("bad", _steps(note, fails), max_attempts=2),
        Workflow("deadly", _steps(note, dies_once, note)),
        # 26 s of a limit of 30 are not enough for a second step in the same invocation.
        Workflow("long", tuple(Step(f"step-{n}", note, credits=100, usual_seconds=26) for n in (1, 2, 3))),
    ]
)
