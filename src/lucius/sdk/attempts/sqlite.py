"""Attempts in a SQLite file: the default of every service.

State: one row an attempt (`file.py` has the table), and the calls that wait while a transaction is under way.
They go into the next one together, in the order they came:

    call ─▶ waiting ─▶ BEGIN IMMEDIATE, statements ─▶ COMMIT in a thread ─▶ each call has its answer

`synchronous=FULL`, and nobody is answered before the COMMIT, so what a call said is still true after the
power went; several processes of one machine share the file. Statements run on the event loop, where they
cost microseconds, and only COMMIT, which waits for the disk, in a thread
(docs/decisions/0003-stage-here-commit-there.md).

How it fails: another process holding the file for long, a full or broken disk are `Unavailable`; the
transaction is undone. A call that fails fails alone: the others of its transaction are done again, each in
one of its own. A caller that is cancelled while its call runs does not undo it: an attempt that was
claimed so and that nobody works on is overdue in the end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from typing import Any, Final, NamedTuple, TypeVar

import apsw

from lucius.errors import Unavailable
from lucius.sdk.attempts.file import BUSY_MS, open_file
from lucius.sdk.serving.ports import AttemptKey, Found, Overdue

T = TypeVar("T")

_BUSY: Final = "ATTEMPTS_BUSY"
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.05
"""Seconds between two looks at a file that another process writes, which takes milliseconds."""
_THIS: Final = "job_id = ? AND step_id = ? AND attempt_no = ? AND lease_id = ?"
_CLAIM: Final = """
INSERT INTO attempts (job_id, step_id, attempt_no, lease_id, owner, until, claimed_at, directive)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_RESULT: Final = f"SELECT result FROM attempts WHERE {_THIS}"  # noqa: S608 - a constant of this module
_EXTEND: Final = f"UPDATE attempts SET until = ? WHERE {_THIS} AND owner = ? AND told_at IS NULL"  # noqa: S608
_FINISH: Final = f"UPDATE attempts SET result = ? WHERE {_THIS} AND result IS NULL"  # noqa: S608
#: The directive goes with its callback token: nobody takes over what was told.
_TOLD: Final = f"UPDATE attempts SET told_at = ?, directive = x'' WHERE {_THIS} AND told_at IS NULL"  # noqa: S608
_OVERDUE: Final = """
SELECT number, job_id, step_id, attempt_no, lease_id, directive, result FROM attempts
WHERE told_at IS NULL AND until <= ? ORDER BY until, number LIMIT ?
"""
_TAKE: Final = "UPDATE attempts SET owner = ?, until = ? WHERE number = ?"
_FORGET: Final = "DELETE FROM attempts WHERE told_at < ?1 OR (told_at IS NULL AND until < ?1)"


class _Call(NamedTuple):
    """Statements to run, and who waits for their answer."""

    work: Callable[[], Any]
    answer: asyncio.Future[Any]


class SqliteAttempts:
    """`Attempts` in a file, or for a test in `:memory:`. A file that is no good is told at once."""

    def __init__(self, path: str | PathLike[str], *, busy_ms: int = BUSY_MS) -> None:
        """`busy_ms`: how long another process may hold the file."""
        self.path = fspath(path)
        self._busy_ms = busy_ms
        self._connection = open_file(self.path)
        self._connection.set_busy_timeout(0)  # a pause of the event loop's, not of its thread
        self._waiting: deque[_Call] = deque()
        self._working: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="attempts")
        self._closed = False

    async def claim(self, key: AttemptKey, *, owner: str, until: int, now: int, directive: bytes) -> Found:
        """Begin an attempt, or learn that it was begun before."""

        def work() -> Found:
            if self._changed(_CLAIM, (*_parts(key), owner, until, now, directive)):
                return Found(claimed=True)
            return Found(claimed=False, result=self._result(key))

        return await self._run(work)

    async def extend(self, keys: Sequence[AttemptKey], *, owner: str, until: int) -> list[bool]:
        """Say that `owner` is alive, for all of them in one transaction."""
        if not keys:
            return []
        return await self._run(
            lambda: [self._changed(_EXTEND, (until, *_parts(key), owner)) == 1 for key in keys]
        )

    async def finish(self, key: AttemptKey, *, owner: str, result: bytes) -> bytes:
        """Store the RESULT; the one that stands."""
        del owner  # whoever is first: a slow owner's result is as good as its taker's verdict

        def work() -> bytes:
            if self._changed(_FINISH, (result, *_parts(key))):
                return result
            stands = self._result(key)
            return result if stands is None else stands

        return await self._run(work)

    async def told(self, key: AttemptKey, *, now: int) -> None:
        """Lucius has heard the result; the first time counts."""
        await self._run(lambda: self._changed(_TOLD, (now, *_parts(key))))

    async def take_overdue(self, *, owner: str, now: int, until: int, limit: int) -> list[Overdue]:
        """Take over what is overdue, the longest overdue first."""

        def work() -> list[Overdue]:
            rows: list[Any] = self._connection.execute(_OVERDUE, (now, max(limit, 0))).fetchall()
            for number, *_ in rows:
                self._changed(_TAKE, (owner, until, number))
            return [
                Overdue(
                    key=AttemptKey(job_id=job, step_id=step, attempt_no=attempt, lease_id=lease),
                    directive=directive,
                    result=result,
                )
                for _, job, step, attempt, lease, directive, result in rows
            ]

        return await self._run(work)

    async def forget(self, *, before: int) -> int:
        """Drop what was told, or left alone, before a time."""
        return await self._run(lambda: self._changed(_FORGET, (before,)))

    async def close(self) -> None:
        """Close the file after the calls that are under way; closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._working is not None:
            await asyncio.wait([self._working])
        await self._in_thread(self._connection.close)
        self._thread.shutdown()

    # --- statements, inside a transaction

    def _changed(self, statement: str, values: tuple[str | int | bytes, ...]) -> int:
        self._connection.execute(statement, values).fetchall()
        return self._connection.changes()

    def _result(self, key: AttemptKey) -> bytes | None:
        found: bytes | None = self._connection.execute(_RESULT, _parts(key)).get
        return found

    # --- transactions

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise Unavailable("The store of attempts is closed.", code="ATTEMPTS_CLOSED")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Call(work, answer))
        if self._working is None or self._working.done():
            self._working = loop.create_task(self._work_off())
        return await answer

    async def _work_off(self) -> None:
        while self._waiting:
            calls = [call for call in self._waiting if not call.answer.done()]
            self._waiting.clear()
            await self._answer(calls)

    async def _answer(self, calls: Sequence[_Call]) -> None:
        """Do these together; should that fail, each by itself, so that only who caused it hears of it."""
        try:
            answers = await self._committed(calls)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            if len(calls) == 1:
                _tell(calls[0], error)
                return
            busy = isinstance(error, Unavailable) and error.code == _BUSY
            for call in calls:
                if busy:  # nothing was begun, and nobody is to wait as long again
                    _tell(call, Unavailable(str(error), code=_BUSY))
                else:
                    await self._answer([call])
            return
        for call, answer in zip(calls, answers, strict=True):
            if not call.answer.done():
                call.answer.set_result(answer)

    async def _committed(self, calls: Sequence[_Call]) -> list[Any]:
        connection = self._connection
        with _transaction(connection, self.path):
            await self._begin()
            answers = [call.work() for call in calls]
            await self._in_thread(lambda: connection.execute("COMMIT"))
        return answers

    async def _begin(self) -> None:
        """Begin, as soon as no other process is in the middle of something."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._busy_ms / 1000
        pause = _FIRST_PAUSE
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except apsw.BusyError:
                if loop.time() >= end:
                    raise
            else:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await loop.create_future()
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _in_thread(self, work: Callable[[], Any]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, work)


@contextmanager
def _transaction(connection: apsw.Connection, path: str) -> Iterator[None]:
    """All or nothing, and SQLite's errors as ours."""
    try:
        yield
    except apsw.BusyError as error:
        message = f"Another process holds {path} for too long; try again, or look for what hangs."
        raise Unavailable(message, code=_BUSY) from error
    except apsw.Error as error:
        message = f"The attempts in {path} cannot be read or written: {error}."
        raise Unavailable(message, code="ATTEMPTS_UNAVAILABLE") from error
    finally:
        with suppress(apsw.Error):  # the first error is the one to tell
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _tell(call: _Call, error: Exception) -> None:
    if not call.answer.done():
        call.answer.set_exception(error)


def _parts(key: AttemptKey) -> tuple[str, str, int, str]:
    return key.job_id, key.step_id, key.attempt_no, key.lease_id
