"""Starts what was accepted and never begun: a crash between rows and workflow, or Temporal away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.states import JobState
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.engines.temporal.starting import WorkflowStarts
    from lucius.ports.ledger import Ledger


class LostStarts:
    """A duty of the orchestrator, which alone starts workflows."""

    name = "lost-starts"

    def __init__(
        self,
        ledger: Ledger,
        starts: WorkflowStarts,
        *,
        clock: Callable[[], int],
        interval: float = 2.0,
        page: int = 200,
    ) -> None:
        self._ledger = ledger
        self._starts = starts
        self._clock = clock
        self.interval = interval
        self._page = page

    async def run_once(self) -> Report:
        """One page of due jobs that have no attempt. Starting what runs already changes nothing."""
        ids = await self._ledger.due(self._clock(), self._page)
        looked = started = 0
        for job_id in ids:
            job = await self._ledger.job(job_id)
            if job is None or job.state is not JobState.QUEUED or job.attempts_total:
                continue
            looked += 1
            started += await self._starts.start(job)
        return Report(duty=self.name, acted=started, details={"looked": looked, "started": started})
