"""Steps that do what chance says: well, slowly, badly, never; and tell the watch what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lucius.lifebook.workflows import (
    PoisonError,
    Registry,
    Step,
    StepContext,
    StepError,
    StepResult,
    Workflow,
)
from lucius.testing.lifebook.simulation_watch import HANDLING, Watch
from lucius.testing.simulation.loop import nap

TIMEOUT = 20.0


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """What a step does this time."""

    seconds: float = 0.0
    ending: str | None = None
    """`failed`, `poison`, `raised`, `deadly`; None: well."""
    credits: int | None = None


class Steps:
    """Workflows of one to four steps, `flow-1` to `flow-4`."""

    def __init__(self, choose: Callable[[], Behaviour], price: int) -> None:
        self.watch: Watch | None = None
        self.deadly: Callable[[], None] = lambda: None
        """Ends the process that runs a step."""
        self._choose = choose
        self.registry = Registry(
            Workflow(f"flow-{length}", tuple(self._step(index, price) for index in range(length)), attempts)
            for length, attempts in enumerate((5, 2, 5, 3), start=1)
        )

    def _step(self, index: int, price: int) -> Step:
        async def run(context: StepContext) -> Any:
            return await self._do(context, index)

        return Step(f"step-{index + 1}", run, price, timeout_seconds=TIMEOUT, usual_seconds=1.0)

    async def _do(self, context: StepContext, index: int) -> StepResult:
        handling, does = HANDLING.get(), self._choose()
        if self.watch is None or handling is None:
            raise RuntimeError("nobody watches")
        self.watch.begins(handling, context, index)
        handling.ending = "failed"  # unless it comes to another end; its time may be over before
        await nap(does.seconds)
        if does.ending == "deadly":
            self.deadly()
            await nap(TIMEOUT)
        if does.ending == "failed":
            raise StepError("chance", code="CHANCE")
        if does.ending == "raised":
            raise ValueError("chance")
        if does.ending == "poison":
            handling.ending = "poison"
            raise PoisonError("chance", code="CHANCE")
        made = StepResult(artifact=f"made://{context.step_key}/{handling.number}", credits=does.credits)
        handling.made[index], handling.ending = made, None
        return made
