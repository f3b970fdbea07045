"""Opening the file: locked for one process or for those that share it, durable or refused."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from lucius import disk
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from typing import IO

PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA journal_size_limit = 67108864;
PRAGMA foreign_keys = OFF;
"""


def lock(path: Path, *, shared: bool = False) -> IO[str]:
    """Hold the ledger for this process, or `shared` for those that share it; who must not is told so."""
    handle = disk.lock_file(path).open("a+")
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        message = f"{path} is in use by another Lucius; stop it or choose another data directory"
        raise Unavailable(message, code="LEDGER_IN_USE") from None
    return handle


def open_writer(path: str) -> apsw.Connection:
    """The connection that writes: WAL and FULL, or nothing."""
    if path != ":memory:":
        refuse_network(Path(path))
    try:
        with disk.private():
            connection = apsw.Connection(path)
            connection.set_busy_timeout(5000)
            connection.execute(PRAGMAS).fetchall()  # apsw stops at the first row until somebody asks for more
    except apsw.Error as error:
        message = f"{path} cannot be opened as a ledger: {error}"
        raise Unavailable(message, code="LEDGER_UNREADABLE") from error
    return connection


def open_reader(path: str) -> apsw.Connection:
    """A connection that only reads."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(5000)
    connection.execute("PRAGMA query_only = ON")
    return connection


def refuse_network(path: Path, mounts: Path = disk.MOUNTS) -> None:
    """A ledger on a network file system is not durable; say so instead of pretending."""
    disk.refuse_network(path, code="LEDGER_ON_NETWORK", mounts=mounts)
