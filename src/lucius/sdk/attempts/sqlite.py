"""Attempts in a SQLite file: the default of every service.

State: one row an attempt (`file.py` has the table). Every call is one `BEGIN IMMEDIATE` transaction with
`synchronous=FULL`, so what a call said is still true after the power went, and several processes of one
machine share the file. All calls run in one thread of their own: the event loop never waits for the disk.

How it fails: another process holding the file for long, a full or broken disk are `Unavailable`; the
transaction is undone. A caller that is cancelled while its call runs does not undo it: an attempt that was
claimed so and that nobody works on is overdue in the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from typing import Any, Final, TypeVar

import apsw

from lucius.errors import Unavailable
from lucius.sdk.attempts.file import open_file
from lucius.sdk.serving.ports import AttemptKey, Found, Overdue

T = TypeVar("T")

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


class SqliteAttempts:
    """`Attempts` in a file, or for a test in `:memory:`. A file that is no good is told at once."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = fspath(path)
        self._connection = open_file(self.path)
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
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown()

    # --- in the thread

    def _changed(self, statement: str, values: tuple[str | int | bytes, ...]) -> int:
        self._connection.execute(statement, values).fetchall()
        return self._connection.changes()

    def _result(self, key: AttemptKey) -> bytes | None:
        found: bytes | None = self._connection.execute(_RESULT, _parts(key)).get
        return found

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise Unavailable("The store of attempts is closed.", code="ATTEMPTS_CLOSED")

        def whole() -> T:
            with _transaction(self._connection, self.path):
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, whole)


@contextmanager
def _transaction(connection: apsw.Connection, path: str) -> Iterator[None]:
    """All or nothing, and SQLite's errors as ours."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except apsw.BusyError as error:
        message = f"Another process holds {path} for too long; try again, or look for what hangs."
        raise Unavailable(message, code="ATTEMPTS_BUSY") from error
    except apsw.Error as error:
        message = f"The attempts in {path} cannot be read or written: {error}."
        raise Unavailable(message, code="ATTEMPTS_UNAVAILABLE") from error
    finally:
        if connection.in_transaction:
            with suppress(apsw.Error):  # the first error is the one to tell
                connection.execute("ROLLBACK")


def _parts(key: AttemptKey) -> tuple[str, str, int, str]:
    return key.job_id, key.step_id, key.attempt_no, key.lease_id
