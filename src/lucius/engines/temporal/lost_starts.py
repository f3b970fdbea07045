"""Starts what has no workflow: a crash between rows and workflow, Temporal away, or a job of another engine.

A job that has begun is started where it stands. That is how the open jobs of a ledger that the outbox
engine drove until now go on, and how a job goes on whose workflow Temporal has lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.timing import due_at
from lucius.engines.temporal.resting import Resting
from lucius.errors import Unavailable
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.job import Job
    from lucius.engines.temporal.talking import Starts
    from lucius.ports.ledger import Ledger


BEGUN = 30_000
"""Milliseconds a job that has begun may be overdue before its workflow is looked for."""
WAITING = 10_000
"""Milliseconds a job may wait to begin: while workers have more to do than they can, starts are not lost."""


class LostStarts:
    """A duty of the orchestrator, which alone starts workflows."""

    name = "lost-starts"

    def __init__(
        self,
        ledger: Ledger,
        starts: Starts,
        *,
        clock: Callable[[], int],
        patience: int = 0,
        interval: float = 2.0,
        page: int = 200,
    ) -> None:
        """`patience`: milliseconds after which a job that has not begun counts as not started."""
        self._ledger = ledger
        self._starts = starts
        self._clock = clock
        self._patience = patience
        self.interval = interval
        self._page = page
        self._resting = Resting(first=5_000, longest=600_000)

    async def run_once(self) -> Report:
        """One page of due jobs. Starting what runs, or ran, already changes nothing."""
        now = self._clock()
        ids = await self._ledger.due(now, self._resting.page(self._page))
        self._resting.keep(ids)
        looked = started = 0
        for job_id in ids:
            job = await self._ledger.job(job_id)
            if job is None or not self._due(job, now) or not self._resting.ripe(job_id, now):
                continue
            looked += 1
            try:
                started += await self._starts.start(job)
            except Unavailable:
                self._resting.unseen(job_id, now)
                raise
        return Report(
            duty=self.name,
            acted=started,
            details={"looked": looked, "started": started},
            more=started >= self._page,  # after an absence of Temporal there are many: do not rest between
        )

    def _due(self, job: Job, now: int) -> bool:
        """What never began is started soon; what did has a workflow, almost always."""
        due = due_at(job)
        return due is not None and due <= now - (BEGUN if job.attempts_total else self._patience)
