"""The other half of the drift check: what Temporal's lists say, held against the rows."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from temporalio.service import RPCError

from lucius.core.states import JobState
from lucius.engines.temporal.messages import WORKFLOW
from lucius.errors import Unavailable
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from temporalio.client import Client, WorkflowExecution

    from lucius.engines.temporal.closing import Closing
    from lucius.engines.temporal.talking import Signals
    from lucius.ports.ledger import Ledger

OVERLAP = 2
"""Rounds that a closed workflow is looked at: lists lag behind."""


class LeftOpen:
    """A duty of the invoker: open workflows of jobs that are over, closed ones of jobs that are not."""

    name = "drift-workflows"

    def __init__(
        self,
        client: Client,
        ledger: Ledger,
        signals: Signals,
        closing: Closing,
        *,
        clock: Callable[[], int],
        task_queue: str | None = None,
        grace: int = 60_000,
        interval: float = 60.0,
        page: int = 1_000,
    ) -> None:
        """`grace`: milliseconds that a workflow may take to end after its job.

        `task_queue`: look at its workflows only; a namespace may hold those of another Lucius, whose jobs
        this ledger does not know.
        """
        self._client = client
        self._ledger = ledger
        self._signals = signals
        self._closing = closing
        self._clock = clock
        self._grace = grace
        self.interval = interval
        self._page = page
        self._since = 0
        self._before: datetime | None = None
        """Open workflows that began later were looked at; None: the next round begins with the newest."""
        self._ours = f'WorkflowType = "{WORKFLOW}"' + (
            f' AND TaskQueue = "{task_queue}"' if task_queue else ""
        )

    async def run_once(self) -> Report:
        """A page of the open ones, and all that closed since the last round."""
        found: Counter[str] = Counter()
        now = self._clock()
        async for job_id in self._open_ones(now):
            job = await self._ledger.job(job_id)
            found["open"] += 1
            if job is None or (job.completed_at is not None and job.completed_at < now - self._grace):
                cancelled = job is not None and job.state is JobState.CANCELLED
                tell = self._signals.cancel if cancelled else self._signals.nudge
                found["left_open"] += await tell(job_id)
        since = self._since or now - 24 * 3_600_000
        ended = f'{self._ours} AND ExecutionStatus != "Running" AND ExecutionStatus != "Completed"'
        async for execution in self._listed(f"{ended} AND CloseTime > '{_time(since)}'", None):
            job = await self._ledger.job(execution.id)
            if job is not None and not job.terminal:
                found["closed"] += await self._closing.close(job.job_id) is not None
        self._since = now - int(OVERLAP * self.interval * 1000)
        acted = found["left_open"] + found["closed"]
        return Report(duty=self.name, acted=acted, details=dict(found))

    async def _open_ones(self, now: int) -> AsyncIterator[str]:
        """One page of them, newest first; the next round goes on where this one ended."""
        before = self._before.isoformat() if self._before is not None else _time(now - self._grace)
        query = f"{self._ours} AND ExecutionStatus = \"Running\" AND StartTime < '{before}'"
        self._before, seen = None, 0
        async for execution in self._listed(query, self._page):
            yield execution.id
            seen += 1
            if seen == self._page:
                self._before = execution.start_time

    async def _listed(self, query: str, limit: int | None) -> AsyncIterator[WorkflowExecution]:
        try:
            async for execution in self._client.list_workflows(query, limit=limit):
                yield execution
        except (RPCError, RuntimeError) as error:  # RuntimeError: it was never reached
            message = f"Temporal's list cannot be read ({error})."
            raise Unavailable(message, code="TEMPORAL_UNAVAILABLE") from error


def _time(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, tz=UTC).isoformat()
