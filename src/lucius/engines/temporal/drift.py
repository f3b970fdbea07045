"""The drift check: rows and workflows compared, and what differs put right.

    overdue     an open job that should have moved by now: its workflow is nudged, and asks
    closed      an open job whose workflow has ended: the job is ended too, with the reason
    left open   a job that is over whose workflow is not: it is nudged (or cancelled, as its job), and ends

The first two come from the ledger's due times, so they cost what is due and no more; the last from
Temporal's list of open workflows, and so do closed workflows of jobs on which no clock runs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lucius.core.states import JobState
from lucius.engines.temporal.resting import Resting
from lucius.engines.temporal.signalling import NEVER
from lucius.errors import Unavailable
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.engines.temporal.closing import Closing
    from lucius.engines.temporal.talking import Signals
    from lucius.ports.ledger import Ledger

PATIENCE = 10_000
"""Milliseconds a workflow may be late before somebody looks."""


class Overdue:
    """A duty of the invoker: jobs that should have moved by now."""

    name = "drift-overdue"

    def __init__(
        self,
        ledger: Ledger,
        signals: Signals,
        closing: Closing,
        *,
        clock: Callable[[], int],
        patience: int = PATIENCE,
        interval: float = 5.0,
        page: int = 500,
    ) -> None:
        self._ledger = ledger
        self._signals = signals
        self._closing = closing
        self._clock = clock
        self._patience = patience
        self.interval = interval
        self._page = page
        self._resting = Resting(first=10_000, longest=600_000)  # a worker that is away hears few nudges

    async def run_once(self) -> Report:
        """One page, longest overdue first."""
        now = self._clock()
        ids = await self._ledger.due(now - self._patience, self._resting.page(self._page))
        self._resting.keep(ids)
        found: Counter[str] = Counter()
        for job_id in ids:
            job = await self._ledger.job(job_id)
            if job is None or job.terminal or not self._resting.ripe(job_id, now):
                continue
            if job.state is JobState.QUEUED and not job.attempts_total:
                found["unstarted"] += 1  # the orchestrator's, or about to begin: a nudge starts nothing
            try:
                found[await self._repaired(job_id)] += 1
            except Unavailable:
                self._resting.unseen(job_id, now)
                raise
        acted = found["nudged"] + found["closed"]
        return Report(duty=self.name, acted=acted, details={"due": len(ids), **found})

    async def _repaired(self, job_id: str) -> str:
        """What was done: nudged, closed; or found: missing, or deaf (open, but it takes no more signals)."""
        if await self._signals.nudge(job_id):
            return "nudged"
        ending = await self._closing.close(job_id)
        if ending is None:
            return "deaf"
        return "missing" if ending == NEVER else "closed"
