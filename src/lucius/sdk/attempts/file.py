"""Opening the SQLite file: its owner's alone, of our making and version, durable, or refused.

Several processes of a service open one file at the same time, so the check and the making of the tables
happen under a lock on the directory; nothing is left behind by it. A file that is not ours is not touched.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from lucius.errors import Unavailable

VERSION: Final = 1
APPLICATION: Final = 0x4C_55_41_54
"""Marks the file as ours: `LUAT`, the attempts of a Lucius service."""
BUSY_MS: Final = 10_000
"""How long a process waits for another one's transaction, which takes milliseconds."""
#: File systems on which SQLite's locks, shared memory or `fsync` cannot be trusted.
_NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ceph"})

_TABLES: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL, step_id TEXT NOT NULL, attempt_no INTEGER NOT NULL, lease_id TEXT NOT NULL,
    owner TEXT NOT NULL, until INTEGER NOT NULL, claimed_at INTEGER NOT NULL, told_at INTEGER,
    directive BLOB NOT NULL, result BLOB,
    UNIQUE (job_id, step_id, attempt_no, lease_id)
) STRICT;
CREATE INDEX attempts_open ON attempts (until) WHERE told_at IS NULL;
CREATE INDEX attempts_told ON attempts (told_at) WHERE told_at IS NOT NULL;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""


def open_file(path: str) -> apsw.Connection:
    """A connection to the attempts in a file, which is made if there is none; `:memory:` for a test."""
    if path == ":memory:":
        return _connected(path)
    place = Path(path)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_network(place)
        with _alone(place.parent):
            _make_private(place)
            return _connected(path)
    except OSError as error:
        message = f"The attempts cannot be kept at {path}: {error.strerror or error}."
        raise Unavailable(message, code="ATTEMPTS_UNREADABLE") from error


def _connected(path: str) -> apsw.Connection:
    try:
        connection = apsw.Connection(path)
    except apsw.Error as error:
        message = f"The attempts in {path} cannot be opened: {error}."
        raise Unavailable(message, code="ATTEMPTS_UNREADABLE") from error
    try:
        connection.set_busy_timeout(BUSY_MS)
        _check(connection, path)
        # apsw stops at the first row until somebody asks for more
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").fetchall()
        if connection.pragma("user_version") == 0:
            connection.execute(_TABLES).fetchall()
    except apsw.Error as error:
        connection.close()
        message = (
            f"{path} cannot be used as the attempts of a service: {error}; move it away or name another file."
        )
        raise Unavailable(message, code="ATTEMPTS_UNREADABLE") from error
    except Unavailable:
        connection.close()
        raise
    return connection


def _check(connection: apsw.Connection, path: str) -> None:
    """Raise unless the file is ours or empty."""
    version, mark = connection.pragma("user_version"), connection.pragma("application_id")
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall() == [(0,)]
    if mark != APPLICATION and not (empty and mark == 0 and version == 0):
        message = (
            f"{path} is a database of something else; name another file for the attempts of this service."
        )
        raise Unavailable(message, code="ATTEMPTS_FOREIGN")
    if version > VERSION:
        message = (
            f"{path} has version {version}, this Lucius knows up to {VERSION}: "
            "start the newer Lucius that wrote it, or name another file."
        )
        raise Unavailable(message, code="ATTEMPTS_TOO_NEW")


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Nobody else opens a file in this directory meanwhile."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _make_private(path: Path) -> None:
    """An empty file that others cannot read: directives hold callback tokens. SQLite's side files follow it.

    One that exists is not opened here: closing it would drop the locks of this process's connections.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _refuse_network(path: Path, mounts: Path = Path("/proc/mounts")) -> None:
    if not mounts.exists():
        return
    parent = path.resolve().parent
    best, kind = "", ""
    for line in mounts.read_text().splitlines():
        _, point, found, *_ = line.split(" ")
        if parent.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, found
    if kind in _NETWORK:
        message = (
            f"{parent} is on {kind}, where SQLite is not safe: choose a local disk, "
            "or keep the attempts in an Azure table or an object store."
        )
        raise Unavailable(message, code="ATTEMPTS_ON_NETWORK")
