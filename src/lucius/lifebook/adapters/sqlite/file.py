"""The file behind runs, triggers and queues: one connection, one thread, many who ask.

Whoever asks while a transaction is under way is part of the next one: all of them wait for one sync of the
disk. Each has a savepoint of its own, so that a refusal takes back its own writes and nobody else's. When the
disk or SQLite fails, the whole transaction is undone and everybody in it hears `Unavailable`. After a commit
that failed while writing nobody knows what the disk has: the file is not touched again until it is opened
anew, and whoever asks hears `Broken`, which ends pollers and with them the process, to be started again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

import apsw

from lucius.errors import Broken, LuciusError, Unavailable
from lucius.lifebook.adapters.sqlite import schema

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]
_MOST_AT_ONCE: Final = 500


class _Asked:
    """Something to do, who waits for it, and what came of it."""

    __slots__ = ("do", "durable", "error", "future", "result", "writes")

    def __init__(
        self, do: Work[Any], future: asyncio.Future[Any], *, writes: bool, durable: bool = False
    ) -> None:
        self.do = do
        self.future = future
        self.writes = writes
        self.durable = durable
        self.result: Any = None
        self.error: BaseException | None = None


class LifebookFile:
    """One open file, for one event loop."""

    def __init__(self, path: str, *, clock: Callable[[], int]) -> None:
        """Open `path`, or `:memory:`; raises `Unavailable`. `clock`: milliseconds since the epoch."""
        self.path = path
        self.clock = clock
        self._connection = schema.open_file(path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lucius-lifebook")
        self._waiting: list[_Asked] = []
        self._busy: asyncio.Future[None] | None = None
        self._over: str | None = None
        """Why the file is not touched any more."""
        self._failed = False
        """Whether that is the disk's fault."""
        self._synchronous = True
        self._bells: dict[str, asyncio.Event] = {}

    async def write(self, do: Work[T], *, durable: bool = True) -> T:
        """The answer of `do`, in a transaction that is on the disk when this returns. Runs in the thread.

        Not `durable`: the end of a process loses nothing, a power cut may undo the newest of it.
        """
        return await self._ask(do, writes=True, durable=durable)

    async def read(self, do: Work[T]) -> T:
        """The answer of `do`, which only reads; it sees all that was written before."""
        return await self._ask(do, writes=False)

    def bell(self, name: str) -> asyncio.Event:
        """Rings once, when this process has put something into that queue."""
        return self._bells.setdefault(name, asyncio.Event())

    def ring(self, name: str) -> None:
        """Wake those who wait for something in that queue."""
        bell = self._bells.pop(name, None)
        if bell is not None:
            bell.set()

    async def close(self) -> None:
        """Finish what is under way and let go of the file; a second time is no error."""
        self._over = self._over or "it was closed"
        while self._busy is not None:
            await self._busy
        await asyncio.get_running_loop().run_in_executor(None, self._let_go)

    # --- on the event loop

    def _ask(self, do: Work[T], *, writes: bool, durable: bool = False) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._over is not None:
            future.set_exception(self._refusal(self._over))
            return future
        self._waiting.append(_Asked(do, future, writes=writes, durable=durable))
        if self._busy is None:
            self._busy = loop.create_future()
            loop.call_soon(self._next)
        return future

    def _next(self) -> None:
        batch: list[_Asked] = []
        while self._waiting and not batch:
            batch = [asked for asked in self._waiting[:_MOST_AT_ONCE] if not asked.future.done()]
            del self._waiting[:_MOST_AT_ONCE]
        if not batch:
            self._rest()
            return
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._thread, self._run, batch)
        done.add_done_callback(lambda _: self._answer(batch))

    def _answer(self, batch: list[_Asked]) -> None:
        for asked in batch:
            if asked.future.done():  # its caller went away
                continue
            if asked.error is None:
                asked.future.set_result(asked.result)
            else:
                asked.future.set_exception(asked.error)
        self._next()

    def _rest(self) -> None:
        if self._busy is not None:
            self._busy.set_result(None)
            self._busy = None

    # --- in the thread

    def _run(self, batch: list[_Asked]) -> None:
        """One transaction; never raises: each of the batch is told."""
        writes = any(asked.writes for asked in batch)
        try:
            self._synchronize(durable=any(asked.durable for asked in batch))
            self._connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            for asked in batch:
                self._do(asked)
            self._commit()
        except Exception as error:  # noqa: BLE001 - whatever it was, everybody must hear of it
            with suppress(apsw.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            for asked in batch:
                asked.error = schema.unavailable(self.path, error)

    def _synchronize(self, *, durable: bool) -> None:
        if durable != self._synchronous:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._synchronous = durable

    def _do(self, asked: _Asked) -> None:
        self._connection.execute("SAVEPOINT one")
        try:
            asked.result = asked.do(self._connection)
        except apsw.ConstraintError as error:
            asked.error = schema.unavailable(self.path, error)
        except apsw.Error:
            raise
        except Exception as error:  # noqa: BLE001 - a refusal, or a mistake: its caller's either way
            asked.error = error
        if asked.error is not None:
            self._connection.execute("ROLLBACK TO one")
        self._connection.execute("RELEASE one")

    def _commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except apsw.IOError as error:
            self._over = f"the disk failed while it was written ({error}); start this process again"
            self._failed = True
            raise

    def _refusal(self, why: str) -> LuciusError:
        text = f"The lifebook file {self.path} is not in use: {why}"
        return Broken(text, code="LIFEBOOK_FAILED") if self._failed else Unavailable(text, code=schema.CODE)

    def _let_go(self) -> None:
        self._thread.shutdown()
        with suppress(apsw.Error):  # it could not tidy up; what was committed is there all the same
            self._connection.close()
