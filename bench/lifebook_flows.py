"""The workflow that is measured: five steps that do nothing."""

from __future__ import annotations

from lucius.lifebook.workflows import Registry, Step, StepContext, Workflow

STEPS = 5


async def nothing(_context: StepContext) -> None:
    """What is measured is all the rest."""


registry = Registry([Workflow("five", tuple(Step(f"step-{at}", nothing, 10) for at in range(STEPS)))])
