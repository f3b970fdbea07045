"""Forget runs whose retention is over. DynamoDB does it by itself (TTL); other stores are told to."""

from __future__ import annotations

from collections.abc import Callable

from lucius.lifebook.ports.store import RunStore
from lucius.ports.duties import Report


class Forgetting:
    """Removes what `ttl_at` allows."""

    name = "lifebook-retention"

    def __init__(
        self, store: RunStore, *, clock: Callable[[], int], interval: float = 60.0, batch: int = 500
    ) -> None:
        self._store = store
        self._clock = clock
        self._batch = batch
        self.interval = interval

    async def run_once(self) -> Report:
        """One batch."""
        gone = await self._store.forget(self._clock(), self._batch)
        return Report(duty=self.name, acted=gone, more=gone == self._batch)
