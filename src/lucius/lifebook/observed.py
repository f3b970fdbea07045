"""Telemetry round the store and the queue: adapters hold none of their own.

Nothing is added to or kept from a call: the answer, and every error, is the inner one's. Only what was
written is told, so that nobody counts what a conflict or an outage took back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lucius.lifebook.core.decide import Decision
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.run import Envelope, Run
from lucius.lifebook.core.wallet import Wallet
from lucius.lifebook.ports.queue import Delivery, Depth, RunQueue
from lucius.lifebook.ports.store import Created, RunPage, RunStore
from lucius.lifebook.ports.watching import Watch


class ObservedRuns:
    """Any store of runs, with a watch that hears of every record that is made and every change."""

    def __init__(self, inner: RunStore, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    async def create(self, run: Run, *, opening: int) -> Created:
        """As the inner store; told whether the run is new."""
        with self._watch.creating(run) as told:
            created = await self._inner.create(run, opening=opening)
            told(created.run, created.fresh)
            return created

    async def get(self, job_id: str) -> Run | None:
        """As the inner store."""
        return await self._inner.get(job_id)

    async def commit(self, before: Run, decision: Decision) -> None:
        """As the inner store; told when it is written."""
        await self._inner.commit(before, decision)
        self._watch.changed(before, decision.run)

    async def runs(self, workspace_id: str, *, limit: int, cursor: str | None = None) -> RunPage:
        """As the inner store."""
        return await self._inner.runs(workspace_id, limit=limit, cursor=cursor)

    async def due(self, now: int, limit: int) -> Sequence[Run]:
        """As the inner store."""
        return await self._inner.due(now, limit)

    async def wallet(self, workspace_id: str) -> Wallet | None:
        """As the inner store."""
        return await self._inner.wallet(workspace_id)

    async def deposit(self, workspace_id: str, amount: int, *, deposit_id: str) -> Wallet:
        """As the inner store."""
        return await self._inner.deposit(workspace_id, amount, deposit_id=deposit_id)

    async def untold(self, limit: int) -> Sequence[RunEvent]:
        """As the inner store."""
        return await self._inner.untold(limit)

    async def claim_events(self, now: int, limit: int, *, lease: int) -> Sequence[RunEvent]:
        """As the inner store."""
        return await self._inner.claim_events(now, limit, lease=lease)

    async def told(self, event: RunEvent, at: int) -> None:
        """As the inner store."""
        await self._inner.told(event, at)

    async def forget(self, now: int, limit: int) -> int:
        """As the inner store."""
        return await self._inner.forget(now, limit)

    async def close(self) -> None:
        """As the inner store."""
        await self._inner.close()


class ObservedQueue:
    """Any queue of work, with a watch that hears how long messages waited for somebody to take them."""

    def __init__(self, inner: RunQueue, watch: Watch, *, clock: Callable[[], int]) -> None:
        """`clock`: milliseconds since the epoch."""
        self._inner = inner
        self._watch = watch
        self._clock = clock

    async def send(self, envelope: Envelope, *, send_no: int, delay_seconds: float = 0) -> None:
        """As the inner queue."""
        await self._inner.send(envelope, send_no=send_no, delay_seconds=delay_seconds)

    async def receive(self, limit: int, *, wait_seconds: float, hidden_seconds: float) -> Sequence[Delivery]:
        """As the inner queue; first loans are timed, later ones waited for other reasons."""
        found = await self._inner.receive(limit, wait_seconds=wait_seconds, hidden_seconds=hidden_seconds)
        for delivery in found:
            if delivery.receives == 1:
                self._watch.waited(max(self._clock() - delivery.sent_at, 0) / 1000)
        return found

    async def hide(self, delivery: Delivery, seconds: float) -> None:
        """As the inner queue."""
        await self._inner.hide(delivery, seconds)

    async def delete(self, delivery: Delivery) -> None:
        """As the inner queue."""
        await self._inner.delete(delivery)

    async def depth(self) -> Depth:
        """As the inner queue."""
        return await self._inner.depth()

    async def close(self) -> None:
        """As the inner queue."""
        await self._inner.close()
