"""Publishes what was committed.

Rows come from the ledger's commits (fast path) and from the sweep (backstop); they wait in a queue
that is fair by tenant. After the bus has taken a batch, the ledger is told. When the bus is away,
rows are parked, one of them is tried again every `probe` seconds, and as soon as it goes through all
follow: no attempt is spent, no storm is made, and a healthy bus has everything within seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.fairness import FairQueue
from lucius.core.job import Fault
from lucius.core.states import RUNNING_JOB
from lucius.dispatch.directives import message_id
from lucius.errors import LuciusError, Unavailable
from lucius.ports.bus import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lucius.ports.bus import Bus
    from lucius.ports.ledger import Change, Ledger, OutboxRow

    Note = Callable[[str, cmd.Command], None]

_ENDS_ATTEMPT = (ev.StepSucceeded, ev.StepRetryScheduled, ev.StepFailed)
MOST_OVER = 10_000
"""Attempts to be taken back that are remembered while the bus is away; the others run out by themselves."""
_STOPS_JOB = (ev.JobPaused, ev.JobCancelled, ev.JobFailed, ev.JobCancelling, ev.JobPausing)


class Relay:
    """One publisher with a fair queue."""

    def __init__(self, ledger: Ledger, bus: Bus, *, probe: float = 2.0) -> None:
        self._ledger = ledger
        self._bus = bus
        self._probe = probe
        self._queue: FairQueue[OutboxRow] = FairQueue()
        self._parked: dict[str, OutboxRow] = {}
        self._by_job: dict[str, set[str]] = {}
        self._over: list[str] = []
        self._refetch: set[str] = set()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        ledger.on_commit(self._committed)

    def waiting(self) -> dict[str, int]:
        """Directives that wait for the bus, by tenant."""
        counts = self._queue.by_tenant()
        for row in self._parked.values():
            counts[row.tenant_id] = counts.get(row.tenant_id, 0) + 1
        return counts

    def offer(self, rows: Sequence[OutboxRow]) -> None:
        """Queue directives for publishing; one that already waits is not queued twice."""
        for row in rows:
            self._queue.push(row.tenant_id, row.message_id, row, priority=row.priority)
            self._by_job.setdefault(row.job_id, set()).add(row.message_id)
        self._rouse()

    async def refetch(self, job_ids: Sequence[str]) -> int:
        """Queue the current directives of these jobs from the ledger."""
        rows = await self._ledger.outbox(job_ids)
        self.offer([row for row in rows if row.message_id not in self._parked])
        return len(rows)

    async def run(self, note: Note) -> None:
        """Publish until cancelled."""
        now = asyncio.get_running_loop().time
        probe_at: float | None = None
        while True:
            if not self._parked:
                probe_at = None
            elif probe_at is None:
                probe_at = now() + self._probe
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(probe_at):
                    await self._wake.wait()
            if probe_at is not None and now() >= probe_at:  # however often something else wakes us
                probe_at = None
                self._unpark_one()
            self._wake.clear()
            await self._take_back()
            while self._queue:
                await self._publish(self._queue.take(self._bus.capabilities.max_batch), note)
            if not self._parked:
                self._idle.set()

    async def drained(self) -> None:
        """Wait until nothing waits."""
        await self._idle.wait()

    async def _publish(self, rows: list[OutboxRow], note: Note) -> None:
        try:
            rows = await self._still_open(rows)
            if rows:
                await self._bus.publish([_message(row) for row in rows])
        except LuciusError as error:
            if not error.retryable and len(rows) > 1:  # one of them is to blame, and only that one waits
                half = len(rows) // 2
                await self._publish(rows[:half], note)
                await self._publish(rows[half:], note)
            else:
                self._unsent(rows, error, note)
            return
        for row in rows:
            self._forget(row)
            self._parked.pop(row.message_id, None)
            note(row.job_id, cmd.Published(step_id=row.step_id, attempt_no=row.attempt_no))
        if self._parked:  # the bus is back
            parked, self._parked = list(self._parked.values()), {}
            self.offer(parked)

    async def _still_open(self, rows: list[OutboxRow]) -> list[OutboxRow]:
        """Where others write too, a job may have been stopped without this process hearing of it."""
        if not self._ledger.capabilities.shared:
            return rows
        wanted = {row.message_id for row in await self._ledger.outbox([row.job_id for row in rows])}
        for row in rows:
            if row.message_id not in wanted:
                self._parked.pop(row.message_id, None)
                self._forget(row)
        return [row for row in rows if row.message_id in wanted]

    def _unsent(self, rows: list[OutboxRow], error: LuciusError, note: Note) -> None:
        """Park what an absent bus will take later; what it will never take is left to the sweep."""
        fault = Fault(code=error.code, message=error.message)
        for row in rows:
            known = self._parked.pop(row.message_id, None) is not None
            if row.message_id not in self._by_job.get(row.job_id, ()):
                continue  # stopped while it was being published
            if error.retryable:
                self._parked[row.message_id] = row  # behind the others: the next probe is another one
            else:
                self._forget(row)
            if not known:
                failed = cmd.PublishFailed(step_id=row.step_id, attempt_no=row.attempt_no, error=fault)
                note(row.job_id, failed)

    def _unpark_one(self) -> None:
        if self._parked:
            row = next(iter(self._parked.values()))
            self._queue.push(row.tenant_id, row.message_id, row, priority=row.priority)

    async def _take_back(self) -> None:
        """Attempts that are over need no reader; sweeps want their rows from the ledger.

        Whoever is away is asked again at the next wake-up: nothing of this is needed for a job to go on.
        """
        if self._over:
            over, self._over = self._over, []
            if self._bus.capabilities.withdraws:
                try:
                    await self._bus.withdraw(over)
                except Unavailable:
                    self._over = [*over, *self._over][-MOST_OVER:]
        if self._refetch:
            wanted, self._refetch = self._refetch, set()
            try:
                await self.refetch(sorted(wanted))
            except Unavailable:
                self._refetch |= wanted

    def _committed(self, changes: Sequence[Change]) -> None:
        for change in changes:
            decision = change.decision
            if change.outbox:
                self.offer(change.outbox)
            if decision.republish:
                self._refetch.add(decision.job.job_id)
            for event in decision.events:
                if isinstance(event, _ENDS_ATTEMPT):
                    index = _index(change, event.step_id)
                    self._end(decision.job.job_id, message_id(decision.job.job_id, index, event.attempt_no))
                elif isinstance(event, _STOPS_JOB):
                    self._stop(change)
        if self._refetch or self._over:
            self._rouse()

    def _end(self, job_id: str, key: str) -> None:
        """An attempt that is over is neither sent again nor left for anybody to read."""
        self._queue.remove(key)
        self._parked.pop(key, None)
        self._drop(job_id, key)
        self._over.append(key)

    def _stop(self, change: Change) -> None:
        """A job that is not to go on is not published for the first time."""
        job = change.decision.job
        if job.state in RUNNING_JOB:
            return
        for key in self._by_job.pop(job.job_id, ()):
            self._queue.remove(key)
            self._parked.pop(key, None)
        if job.terminal:
            self._over.extend(
                message_id(job.job_id, step.index, step.attempt.attempt_no)
                for step in job.steps
                if step.attempt
            )

    def _forget(self, row: OutboxRow) -> None:
        self._drop(row.job_id, row.message_id)

    def _drop(self, job_id: str, key: str) -> None:
        keys = self._by_job.get(job_id)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._by_job[job_id]

    def _rouse(self) -> None:
        self._idle.clear()
        self._wake.set()


def _index(change: Change, step_id: str) -> int:
    step = change.decision.job.step(step_id)
    return step.index if step else 0


def _message(row: OutboxRow) -> Message:
    properties = {"mode": row.mode, "lane": str(row.lane), "job_id": row.job_id}
    if row.priority:
        properties["priority"] = str(row.priority)
    return Message(
        message_id=row.message_id,
        topic=row.topic,
        subject=row.subject,
        tenant_id=row.tenant_id,
        body=row.body,
        properties=properties,
    )
