"""Counting everything that is not over, beside the event loop: it reads every open job of a shared ledger."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lucius.adapters.ledgers.sqlite import files
from lucius.adapters.ledgers.sqlite.reader import Reader
from lucius.ports.ledger import Census

if TYPE_CHECKING:
    import asyncio

    import apsw


class CensusTaker:
    """A thread with a connection of its own; both are made by the first question."""

    def __init__(self, path: str, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._loop = loop
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="lucius-census")
        self._connection: apsw.Connection | None = None

    async def take(self, now: int, tenants: frozenset[str] | None) -> Census:
        """All of it from one snapshot."""
        return await self._loop.run_in_executor(self._threads, self._count, now, tenants)

    def close(self) -> None:
        """Finish what is under way and let go."""
        self._threads.shutdown()
        if self._connection is not None:
            self._connection.close()

    def _count(self, now: int, tenants: frozenset[str] | None) -> Census:
        if self._connection is None:
            self._connection = files.open_reader(self._path)
        reader = Reader(self._connection)
        self._connection.execute("BEGIN")
        try:
            stored, unsent, at_work = reader.open_counts()
            due, lag = reader.due_count(now)
            dead = reader.dead_letter_count()
        finally:
            self._connection.execute("ROLLBACK")
        by_state: Counter[str] = Counter()
        for tenant, _, state, count in stored:
            if tenants is None or tenant in tenants:
                by_state[state] += count
        return Census(
            by_state=dict(by_state),
            at_work=dict(at_work),
            unsent=unsent,
            due=due,
            dead_letters=dead,
            due_lag_ms=lag,
        )
