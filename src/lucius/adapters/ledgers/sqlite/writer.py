"""How a transaction becomes durable.

`stage` runs a batch's statements on the event loop, where they cost a few microseconds a row; only the
COMMIT, with its writes and its fsync, goes to the committer's thread. The other way round, a thread that
runs many small statements beside a busy event loop waits for the interpreter after every one of them
(docs/decisions/0003-stage-here-commit-there.md). The connection is handed over, never shared.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import apsw

from lucius.errors import Unavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from lucius.adapters.ledgers.sqlite.batch import Statement

    Done = Callable[[BaseException | None], None]


class Committer:
    """The thread that commits, one transaction at a time."""

    def __init__(self, connection: apsw.Connection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop
        self._queue: queue.SimpleQueue[Done | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="lucius-ledger", daemon=True)
        self._thread.start()

    def commit(self, done: Done) -> None:
        """Commit what is staged, then call `done` on the event loop."""
        self._queue.put(done)

    def close(self) -> None:
        """End the thread; nothing may be under way."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (done := self._queue.get()) is not None:
            self._loop.call_soon_threadsafe(done, commit(self._connection))


def stage(connection: apsw.Connection, statements: list[Statement]) -> BaseException | None:
    """Run everything but the commit; what went wrong, if anything did."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for sql, rows in statements:
            connection.executemany(sql, rows)
    except Exception as error:  # noqa: BLE001 - whatever it was, those who wait must hear of it
        return _given_up(connection, error)
    return None


def commit(connection: apsw.Connection) -> BaseException | None:
    """Make it durable; what went wrong, if anything did."""
    try:
        connection.execute("COMMIT")
    except Exception as error:  # noqa: BLE001 - as above, and the thread must live to say it
        return _given_up(connection, error)
    return None


def _given_up(connection: apsw.Connection, error: Exception) -> Unavailable:
    """Nobody reads half a transaction; what the file holds is for a fresh start to find out."""
    with suppress(apsw.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return unwritten(error)


def unwritten(error: Exception) -> Unavailable:
    """What everybody is told whose change did not become durable."""
    failure = Unavailable(
        f"the ledger could not be written ({type(error).__name__}: {error}); "
        "Lucius stops here and recovers at its next start",
        code="LEDGER_FAILED",
    )
    failure.__cause__ = error
    return failure
