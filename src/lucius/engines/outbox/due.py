"""The reconciler: every due job gets a `Tick`, and the core finds out what is due about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.commands import Tick
from lucius.dispatch.backlog import Backlog
from lucius.errors import Broken
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self._backlog = Backlog(ledger, bus, clock=clock)
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
                    answers.append(self._engine.apply(job_id, Tick(held=await self._backlog.held(job))))
                except Broken:  # it stays due and is reported; the jobs behind it are not its prisoners
                    broken += 1
        acted = 0
        for answer in answers:
            change = await answer
            acted += change is not None and bool(change.decision.events)
        details = {"due": len(ids), "broken": broken} if broken else {"due": len(ids)}
        return Report(duty=self.name, acted=acted, details=details, more=len(ids) == self._page)
