"""The file of the SQLite bus: how it is opened, and its tables.

Several processes open it at once, so opening and making the tables happen under a lock file: a switch to
WAL does not wait for others by itself. A file made by a newer Lucius is refused, never touched.

`parcels` holds one row for each subscription that has a message (box 0: no subscription takes it yet). A row
with a token is lent until `locked_until`, one without waits at its `place`. `lanes` says how many of a
tenant's wait in a box and when its turn came last; `readers`, who has asked there. `state` is one row: the
number given out last, how many parcels there are, and how often the set of boxes has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import apsw

from lucius import disk
from lucius.errors import Unavailable

VERSION: Final = 1
_OPENING_MS: Final = 5000
_READING_MS: Final = 50

PRAGMAS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 2000;
PRAGMA journal_size_limit = 16777216;
"""

SCHEMA: Final = """
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1), counter INTEGER NOT NULL, held INTEGER NOT NULL,
    generation INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0, 0);
CREATE TABLE boxes (box INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, subscription BLOB NOT NULL) STRICT;
CREATE TABLE readers (
    box INTEGER NOT NULL, tenants TEXT NOT NULL, asked_at INTEGER NOT NULL, PRIMARY KEY (box, tenants)
) STRICT, WITHOUT ROWID;
CREATE TABLE lanes (
    box INTEGER NOT NULL, tenant TEXT NOT NULL, turn INTEGER NOT NULL, waiting INTEGER NOT NULL,
    PRIMARY KEY (box, tenant)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanes_by_turn ON lanes (box, turn);
CREATE TABLE parcels (
    id INTEGER PRIMARY KEY, box INTEGER NOT NULL, message_id TEXT NOT NULL, tenant TEXT NOT NULL,
    priority INTEGER NOT NULL, place INTEGER NOT NULL, deliveries INTEGER NOT NULL DEFAULT 0, token TEXT,
    locked_until INTEGER, topic TEXT NOT NULL, subject TEXT NOT NULL, properties TEXT, body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX parcels_by_message ON parcels (message_id, box);
CREATE INDEX parcels_waiting ON parcels (box, tenant, priority DESC, place) WHERE token IS NULL;
CREATE INDEX parcels_lent ON parcels (locked_until, place) WHERE token IS NOT NULL;
CREATE TABLE dead (
    id INTEGER PRIMARY KEY, subscription TEXT NOT NULL, reason TEXT NOT NULL, dead_at INTEGER NOT NULL,
    deliveries INTEGER NOT NULL, message_id TEXT NOT NULL, topic TEXT NOT NULL, subject TEXT NOT NULL,
    tenant TEXT NOT NULL, properties TEXT, body BLOB NOT NULL
) STRICT;
"""


def open_writer(path: Path) -> apsw.Connection:
    """The connection that writes. It never waits for a lock: whoever uses it tries again."""
    refuse_network(path)
    try:
        with disk.private(), disk.alone(path):
            connection = apsw.Connection(str(path))
            connection.set_busy_timeout(_OPENING_MS)
            connection.execute(PRAGMAS).fetchall()  # apsw stops at the first row until somebody asks for more
            _migrate(path, connection)
            connection.set_busy_timeout(0)
    except (apsw.Error, OSError) as error:
        raise unavailable(path, error) from error
    return connection


def open_reader(path: Path) -> apsw.Connection:
    """A connection that only reads, and waits for nobody longer than an event loop can bear."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        raise unavailable(path, error) from error
    connection.set_busy_timeout(_READING_MS)
    return connection


def unavailable(path: Path, error: BaseException) -> Unavailable:
    """What a caller is told when the file cannot be read or written."""
    return Unavailable(
        f"The bus {path} is locked, full or unreadable ({type(error).__name__}: {error}); "
        "nothing was changed, try again later",
        code="BUS_UNAVAILABLE",
    )


def refuse_network(path: Path, mounts: Path = disk.MOUNTS) -> None:
    """On a network file system locks cannot be trusted; say so instead of losing messages."""
    disk.refuse_network(path, code="BUS_ON_NETWORK", mounts=mounts)


def _migrate(path: Path, connection: apsw.Connection) -> None:
    found = connection.pragma("user_version")
    if found > VERSION:
        connection.close()
        raise Unavailable(
            f"The bus {path} has schema version {found}, this Lucius knows up to {VERSION}: "
            "start the newer Lucius that wrote it",
            code="BUS_TOO_NEW",
        )
    if found < VERSION:
        connection.execute(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT").fetchall()
