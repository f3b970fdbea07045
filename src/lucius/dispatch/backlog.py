"""Whether a directive waits because its services are busy, not because they are away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.states import StepState
from lucius.dispatch.directives import message_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.job import Job
    from lucius.core.protocol import StepRecipe
    from lucius.ports.bus import Bus
    from lucius.ports.ledger import Ledger


class Backlog:
    """Asks the bus, and the ledger where the bus cannot tell."""

    def __init__(self, ledger: Ledger, bus: Bus, *, clock: Callable[[], int]) -> None:
        self._ledger = ledger
        self._bus = bus
        self._clock = clock

    async def held(self, job: Job) -> frozenset[str]:
        """Steps whose directive waits unread behind others."""
        if not self._bus.capabilities.knows_unread:
            return frozenset()
        held = set()
        for step in job.steps:
            if step.state is StepState.AWAITING_ACK and step.attempt is not None:
                recipe = job.order.protocol.steps[step.index]
                key = message_id(job.job_id, step.index, step.attempt.attempt_no)
                if await self._waits_for_busy(recipe, key):
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
