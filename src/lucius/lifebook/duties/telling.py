"""Tell analytics what was written down to be told, under an id that follows from the run.

Several processes may do it: each claims what it tells. One that crashes between telling and noting leaves its
event to another, who tells it once more, with the same id.
"""

from __future__ import annotations

from collections.abc import Callable

from lucius.lifebook.ports.store import RunStore
from lucius.lifebook.ports.telling import Analytics
from lucius.ports.duties import Report

LEASE = 60_000
"""Milliseconds in which one batch is told; after that others may believe that we crashed."""


class Telling:
    """Empties the outbox of events."""

    name = "lifebook-events"

    def __init__(
        self,
        store: RunStore,
        analytics: Analytics,
        *,
        clock: Callable[[], int],
        interval: float = 1.0,
        batch: int = 100,
    ) -> None:
        self._store = store
        self._analytics = analytics
        self._clock = clock
        self._batch = batch
        self.interval = interval

    async def run_once(self) -> Report:
        """Claim, tell, note."""
        events = await self._store.claim_events(self._clock(), self._batch, lease=LEASE)
        for event in events:
            await self._analytics.tell(event)
            await self._store.told(event, self._clock())
        return Report(duty=self.name, acted=len(events), more=len(events) == self._batch)
