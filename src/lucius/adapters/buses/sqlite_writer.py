"""Who writes the file of the SQLite bus: one transaction at a time, for everybody who asked meanwhile.

Work is staged on the event loop, where a statement costs microseconds, and committed in a thread, for a
commit may wait for the disk. Another process may hold the file: then all of it is tried again a little
later, and whoever has waited for `patience` seconds hears `Unavailable`; nothing of theirs was done.

A commit waits for the disk only if some work in it is `durable`: of a publish nothing may be lost. Without
that, a power cut (not the end of a process) can undo the newest lends and settlements, and those messages
come once more, as they do when a lock runs out.

Work may be run more than once (a companion failed, the transaction began anew), so it must change nothing
but the transaction. Work whose caller went away before it began is dropped.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import apsw

from lucius.adapters.buses.sqlite_file import unavailable
from lucius.adapters.buses.sqlite_transaction import Transaction
from lucius.errors import LuciusError

T = TypeVar("T")
_FIRST_RETRY: Final = 0.001
_LONGEST_RETRY: Final = 0.002
"""SQLite hands its lock to whoever asks first: who asks seldom waits long behind a busy process."""
_MOST_AT_ONCE: Final = 2000
"""Messages that one transaction is about, roughly: the event loop waits while it is staged."""


class Work(Generic[T]):
    """Something to do in a transaction, and who waits for its answer."""

    __slots__ = ("answer", "do", "durable", "future", "since", "undo", "weight")

    def __init__(
        self,
        do: Callable[[Transaction], T],
        future: asyncio.Future[T],
        *,
        durable: bool,
        undo: Callable[[T], None] | None,
        weight: int,
    ) -> None:
        self.do = do
        self.future = future
        self.durable = durable
        self.undo = undo
        self.weight = weight
        self.since = 0.0
        self.answer: T | None = None


class Writer:
    """The queue before the file."""

    def __init__(
        self,
        path: Path,
        connection: apsw.Connection,
        *,
        begin: Callable[[], Transaction],
        changed: Callable[[], None],
        failed: Callable[[], None],
        patience: float,
    ) -> None:
        """`begin` makes a transaction's view; `changed` hears of each commit, `failed` of what is undone."""
        self._path = path
        self._connection = connection
        self._begin = begin
        self._changed = changed
        self._failed = failed
        self._patience = patience
        self._waiting: list[Work[Any]] = []
        self._busy = False
        self._closed = False
        self._retry = _FIRST_RETRY
        self._synchronous = True
        self._idle: asyncio.Event | None = None
        self._committer: _Committer | None = None

    def submit(
        self,
        do: Callable[[Transaction], T],
        *,
        durable: bool = False,
        undo: Callable[[T], None] | None = None,
        weight: int = 1,
    ) -> asyncio.Future[T]:
        """Do this in the next transaction. `undo` is called with an answer that nobody waits for any more."""
        loop = asyncio.get_running_loop()
        work = Work(do, loop.create_future(), durable=durable, undo=undo, weight=weight)
        work.since = loop.time()
        self._waiting.append(work)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._flush)
        return work.future

    def post(self, do: Callable[[Transaction], object]) -> None:
        """Do this in the next transaction, before what others ask, if it can be done; nobody waits for it."""
        if not self._closed:
            future = self.submit(do)
            self._waiting.insert(0, self._waiting.pop())
            del future

    async def finish(self) -> None:
        """Wait until all that was asked is answered."""
        while self._busy:
            self._idle = self._idle or asyncio.Event()
            await self._idle.wait()

    def close(self) -> None:
        """End the thread and let the file go; nothing may be under way."""
        self._closed = True
        if self._committer is not None:
            self._committer.close()
            self._committer = None
        with suppress(apsw.Error):  # it could not tidy up; what was committed is there all the same
            self._connection.close()

    def _flush(self) -> None:
        """Stage what waits; the commit, if there is anything to commit, answers."""
        batch: list[Work[Any]] = []
        while batch := batch or self._next_batch():
            try:
                self._start(durable=any(work.durable for work in batch))
            except apsw.BusyError as error:
                self._try_later(batch, error)
                return
            except apsw.Error as error:
                _refuse(batch, unavailable(self._path, error))
                batch = []
                continue
            transaction = self._stage(batch)
            if transaction is None:
                continue  # one of them failed and has left the batch
            if transaction.dirty:
                self._commit(batch)
                return
            self._roll_back()
            self._answer(batch)
            batch = []
        self._rest()

    def _next_batch(self) -> list[Work[Any]]:
        batch: list[Work[Any]] = []
        weight = 0
        for position, work in enumerate(self._waiting):
            if batch and weight + work.weight > _MOST_AT_ONCE:
                self._waiting = self._waiting[position:]
                return batch
            if not work.future.done():
                batch.append(work)
                weight += work.weight
        self._waiting = []
        return batch

    def _start(self, *, durable: bool) -> None:
        if durable != self._synchronous:
            self._connection.execute(
                "PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL"
            )
            self._synchronous = durable
        self._connection.execute("BEGIN IMMEDIATE")
        self._retry = _FIRST_RETRY

    def _stage(self, batch: list[Work[Any]]) -> Transaction | None:
        """Run the batch; None if one failed: it is told so, and the others have to begin anew."""
        work = batch[0]
        try:
            transaction = self._begin()
            for work in batch:
                try:
                    work.answer = work.do(transaction)
                except LuciusError as refusal:  # raised before anything is written
                    work.answer = None
                    _refuse([work], refusal)
            transaction.finish()
        except Exception as error:  # noqa: BLE001 - whatever it was, its caller must hear of it
            self._roll_back()
            self._failed()
            batch.remove(work)
            _refuse([work], unavailable(self._path, error) if isinstance(error, apsw.Error) else error)
            return None
        return transaction

    def _commit(self, batch: list[Work[Any]]) -> None:
        if self._committer is None:
            self._committer = _Committer(self._connection, asyncio.get_running_loop())

        def done(error: BaseException | None) -> None:
            if error is None:
                self._answer(batch)
                self._changed()
            else:
                self._roll_back()
                self._failed()
                _refuse(batch, unavailable(self._path, error))
            self._flush()

        self._committer.commit(done)

    def _answer(self, batch: list[Work[Any]]) -> None:
        for work in batch:
            if not work.future.done():
                work.future.set_result(work.answer)
            elif work.undo is not None and work.answer is not None and work.future.cancelled():
                work.undo(work.answer)

    def _try_later(self, batch: list[Work[Any]], error: apsw.Error) -> None:
        """Another process writes: those who have waited long enough are told, the others go on waiting."""
        loop = asyncio.get_running_loop()
        over = [work for work in batch if loop.time() - work.since >= self._patience]
        _refuse(over, unavailable(self._path, error))
        self._waiting = [work for work in batch if work not in over] + self._waiting
        if self._waiting:
            loop.call_later(self._retry, self._flush)
            self._retry = min(self._retry * 2, _LONGEST_RETRY)
        else:
            self._rest()

    def _roll_back(self) -> None:
        with suppress(apsw.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _rest(self) -> None:
        self._busy = False
        if self._idle is not None:
            self._idle.set()
            self._idle = None


class _Committer:
    """The thread that commits; while it does, nobody else touches the connection."""

    def __init__(self, connection: apsw.Connection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection = connection
        self._loop = loop
        self._queue: queue.SimpleQueue[Callable[[BaseException | None], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="lucius-bus", daemon=True)
        self._thread.start()

    def commit(self, done: Callable[[BaseException | None], None]) -> None:
        """Commit what is staged, then call `done` on the event loop."""
        self._queue.put(done)

    def close(self) -> None:
        """End the thread; nothing may be under way."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (done := self._queue.get()) is not None:
            error: BaseException | None = None
            try:
                self._connection.execute("COMMIT")
            except Exception as failure:  # noqa: BLE001 - the thread must live to say it
                error = failure
            with suppress(RuntimeError):  # the loop may have ended without closing the bus
                self._loop.call_soon_threadsafe(done, error)


def _refuse(batch: list[Work[Any]], error: BaseException) -> None:
    for work in batch:
        if not work.future.done():
            work.future.set_exception(error)
            work.future.exception()  # a caller that has gone away needs no warning
