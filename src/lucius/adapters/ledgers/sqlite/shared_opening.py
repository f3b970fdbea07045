"""Joining a ledger that several processes of this machine share.

They open it one after the other, so two that start at once on a new file do not both make its tables. The
lock they hold together keeps a process out that wants the file for itself, and the other way round.
Whoever has to change the schema must be alone: a process that runs was built for the old one.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import apsw

from lucius.adapters.ledgers.sqlite import files, schema
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

#: Milliseconds between two looks at who else is opening.
LOOK = 5


class Joined(NamedTuple):
    """What a process holds of a shared ledger."""

    lock: IO[str]
    turn: IO[str]
    connection: apsw.Connection
    versions: tuple[int, int]


def join(path: str, *, bound: float, pause: Callable[[int], object] = apsw.sleep) -> Joined:
    """Open the file beside others, up to date or refused; waits up to `bound` seconds for its turn."""
    if path == ":memory:":
        raise Unavailable("a ledger in memory cannot be shared", code="LEDGER_NOT_SHARED")
    where = Path(path)
    turn = where.with_suffix(where.suffix + ".turn").open("a+")
    lock: IO[str] | None = None
    connection: apsw.Connection | None = None
    try:
        _await_turn(turn, where, looks=int(bound * 1000) // LOOK, pause=pause)
        lock = files.lock(where, shared=True)
        connection = files.open_writer(path)
        versions = _up_to_date(connection, lock, where)
        fcntl.flock(turn, fcntl.LOCK_UN)
    except BaseException:
        if connection is not None:
            connection.close()
        for handle in (lock, turn):
            if handle is not None:
                handle.close()
        raise
    return Joined(lock, turn, connection, versions)


def _await_turn(turn: IO[str], path: Path, *, looks: int, pause: Callable[[int], object]) -> None:
    for _ in range(looks):
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pause(LOOK)
        else:
            return
    raise Unavailable(f"{path} is held by another process of this Lucius; try again", code="LEDGER_BUSY")


def _up_to_date(connection: apsw.Connection, lock: IO[str], path: Path) -> tuple[int, int]:
    behind = connection.pragma("user_version") < len(schema.MIGRATIONS)
    if behind:
        _convert(lock, fcntl.LOCK_EX, f"{path} has to be brought up to date: stop what else uses it first")
    versions = schema.migrate(connection)
    if behind:
        _convert(lock, fcntl.LOCK_SH, f"{path} is in use by another Lucius; stop it")
    return versions


def _convert(lock: IO[str], operation: int, refusal: str) -> None:
    try:
        fcntl.flock(lock, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Unavailable(refusal, code="LEDGER_IN_USE") from None
