"""Whose turn it is to write a shared ledger, and the thread that waits for it.

SQLite lets one connection write at a time; who finds it taken asks again after a while, and beside a busy
writer may ask in vain for seconds. So the processes queue at a file of their own first (`flock` on
`ledger.db.turn`: the kernel wakes who waits, and lets go for a process that dies), and only whoever has
the turn begins a transaction. A connection belongs to the event loop or to this thread, never to both:

    event loop   take   the turn and BEGIN IMMEDIATE if both are free now; statements
    thread       wait   for both; COMMIT, and the turn is passed on at once

A foreign tool that holds SQLite's lock without taking turns is waited for up to `bound` seconds.
"""

from __future__ import annotations

import fcntl
import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import apsw

from lucius.adapters.ledgers.sqlite.writer import unwritten
from lucius.errors import Unavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import IO

    from lucius.adapters.ledgers.sqlite.batch import Statement

    Done = Callable[[Unavailable | None], None]
    Work = Callable[[], Unavailable | None]

#: Seconds that closing waits for a thread that stands in the queue; it lets go by itself afterwards.
PARTING = 1.0
BUSY = "LEDGER_BUSY"


class Turns:
    """The right to write, and the thread that waits and commits."""

    def __init__(
        self, handle: IO[str], connection: apsw.Connection, loop: asyncio.AbstractEventLoop, *, bound: float
    ) -> None:
        self._handle = handle
        self._connection = connection
        self._connection.set_busy_timeout(0)  # on the event loop nobody waits
        self._loop = loop
        self._bound = bound
        self._closed = False
        self._queue: queue.SimpleQueue[tuple[Work, Done] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="lucius-shared-ledger", daemon=True)
        self._thread.start()

    def take(self) -> bool:
        """Begin a transaction now, or not at all."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except apsw.Error:
            self._pass_on()
            return False  # the thread meets the same error, or waits until it is over
        return True

    def wait(self, done: Done) -> None:
        """Begin a transaction when it is our turn, then call `done` on the event loop."""
        self._queue.put((self._begin, done))

    def commit(self, done: Done) -> None:
        """Commit and pass the turn on, then call `done` on the event loop."""
        self._queue.put((self._commit, done))

    def stage(self, statements: list[Statement]) -> Unavailable | None:
        """Run the statements; if one fails nothing is kept, and the turn is passed on."""
        try:
            for sql, rows in statements:
                self._connection.executemany(sql, rows)
        except Exception as error:  # noqa: BLE001 - whatever it was, those who wait must hear of it
            self.give_up()
            return told(error)
        return None

    def give_up(self) -> None:
        """End the transaction without a trace and pass the turn on."""
        with suppress(apsw.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        self._pass_on()

    def close(self) -> None:
        """End the thread; no commit may be under way."""
        self._closed = True
        self._queue.put(None)
        self._thread.join(PARTING)

    def _run(self) -> None:
        with self._handle:  # closing it passes on a turn that came too late
            while (asked := self._queue.get()) is not None:
                work, done = asked
                outcome = work()
                if self._closed:
                    return
                with suppress(RuntimeError):  # the loop has ended, and with it everybody who waited
                    self._loop.call_soon_threadsafe(done, outcome)

    def _begin(self) -> Unavailable | None:
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        if self._closed:
            return None
        try:
            self._connection.set_busy_timeout(int(self._bound * 1000))
            self._connection.execute("BEGIN IMMEDIATE")
        except Exception as error:  # noqa: BLE001 - the thread must live to say it
            self.give_up()
            return told(error)
        finally:
            self._connection.set_busy_timeout(0)
        return None

    def _commit(self) -> Unavailable | None:
        try:
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - as above
            self.give_up()
            return told(error)
        self._pass_on()
        return None

    def _pass_on(self) -> None:
        fcntl.flock(self._handle, fcntl.LOCK_UN)


def told(error: Exception) -> Unavailable:
    """What those are told whose change was not written: come again, or that this ledger has stopped."""
    return busy(error) if isinstance(error, apsw.BusyError) else unwritten(error)


def busy(error: Exception | None = None) -> Unavailable:
    """Another process writes and writes; nothing of ours was written."""
    failure = Unavailable("another process holds the ledger; nothing was written, try again", code=BUSY)
    failure.__cause__ = error
    return failure
