"""The reconciler: every due job gets a `Tick`, and the core finds out what is due about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.commands import Tick
from lucius.core.states import StepState
from lucius.engines.outbox.directives import message_id
from lucius.errors import Broken
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.job import Job
    from lucius.core.protocol import StepRecipe
    from lucius.engines.outbox.engine import OutboxEngine
    from lucius.ports.bus import Bus
    from lucius.ports.ledger import Ledger


class DueJobs:
    """Ticks what is due, a page at a time."""

    name = "due"

    def __init__(
        self,
        ledger: Ledger,
        bus: Bus,
        engine: OutboxEngine,
        *,
        clock: Callable[[], int],
        interval: float = 0.5,
        page: int = 500,
    ) -> None:
        self._ledger = ledger
        self._bus = bus
        self._engine = engine
        self._clock = clock
        self.interval = interval
        self._page = page

    async def run_once(self) -> Report:
        """One page of due jobs."""
        ids = await self._ledger.due(self._clock(), self._page)
        answers, broken = [], 0
        for job_id in ids:
            job = await self._ledger.job(job_id)
            if job is not None:
                try:
                    answers.append(self._engine.apply(job_id, Tick(held=await self._held(job))))
                except Broken:  # it stays due and is reported; the jobs behind it are not its prisoners
                    broken += 1
        acted = 0
        for answer in answers:
            change = await answer
            acted += change is not None and bool(change.decision.events)
        details = {"due": len(ids), "broken": broken} if broken else {"due": len(ids)}
        return Report(duty=self.name, acted=acted, details=details, more=len(ids) == self._page)

    async def _held(self, job: Job) -> frozenset[str]:
        """Steps whose directive waits unread because their services are busy, not because they are away."""
        if not self._bus.capabilities.knows_unread:
            return frozenset()
        held = set()
        for step in job.steps:
            if step.state is StepState.AWAITING_ACK and step.attempt is not None:
                recipe = job.order.protocol.steps[step.index]
                if await self._waits_for_busy(
                    recipe, message_id(job.job_id, step.index, step.attempt.attempt_no)
                ):
                    held.add(step.step_id)
        return frozenset(held)

    async def _waits_for_busy(self, recipe: StepRecipe, key: str) -> bool:
        """Somebody asks for such work, or is at such work and will ask again."""
        [read] = await self._bus.unread([key], read_within=recipe.ack_timeout / 1000)
        if read:
            return True
        [unread] = await self._bus.unread([key])
        if not unread:
            return False
        census = await self._ledger.census(self._clock())
        return census.at_work.get(recipe.step_type, 0) > 0
