"""The one thread that writes.

It takes a transaction at a time, and it knows no jobs: only statements. After a failed commit it
refuses everything, because what the file then holds is for a fresh start to find out.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

import apsw

from lucius.errors import Unavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from lucius.adapters.ledgers.sqlite.batch import Statement

Done = "Callable[[BaseException | None], None]"


class Writer:
    """Runs transactions off the event loop, in order, one at a time."""

    def __init__(self, connection: apsw.Connection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop
        self._queue: queue.SimpleQueue[tuple[list[Statement], Callable[[BaseException | None], None]] | None]
        self._queue = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="lucius-ledger", daemon=True)
        self._thread.start()

    def write(self, statements: list[Statement], done: Callable[[BaseException | None], None]) -> None:
        """Commit these, then call `done` on the event loop."""
        self._queue.put((statements, done))

    def close(self) -> None:
        """Finish what is queued and end the thread."""
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        failure: BaseException | None = None
        while (work := self._queue.get()) is not None:
            statements, done = work
            failure = failure or transact(self._connection, statements)
            self._loop.call_soon_threadsafe(done, failure)


def transact(connection: apsw.Connection, statements: list[Statement]) -> BaseException | None:
    """One durable transaction; what went wrong, if anything did."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for sql, values in statements:
            connection.execute(sql, values)
        connection.execute("COMMIT")
    except apsw.Error as error:
        failure = Unavailable(
            f"the ledger could not be written ({type(error).__name__}: {error}); "
            "Lucius stops here and recovers at its next start",
            code="LEDGER_FAILED",
        )
        failure.__cause__ = error
        return failure
    return None
