"""The tables, and how the file is opened. Columns are what is searched for; the body is the whole record.

A message is ready while `hidden_until` is NULL; hidden, it is lent or has a time to wait for. `receipt` names
its last loan. `lent_until` is set while somebody works on it, so that `lanes` can count, for each workspace,
how many are ready, how many are worked on, and when its turn came last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import apsw

from lucius import disk
from lucius.errors import Unavailable

MEMORY: Final = ":memory:"
VERSION: Final = 1
CODE: Final = "LIFEBOOK_UNAVAILABLE"
_LOOK_MS: Final = 2
_LOOKS: Final = 5000 // _LOOK_MS
"""How often we look whether another process has let go of the file: for five seconds."""

PRAGMAS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 2000;
PRAGMA journal_size_limit = 16777216;
"""

SCHEMA: Final = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, job_id TEXT NOT NULL UNIQUE, unique_id TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL, created_at INTEGER NOT NULL, status TEXT NOT NULL, version INTEGER NOT NULL,
    due_at INTEGER, ttl_at INTEGER, body BLOB NOT NULL
) STRICT;
CREATE INDEX runs_of_workspace ON runs (workspace_id, created_at, job_id);
CREATE INDEX runs_due ON runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX runs_over ON runs (ttl_at) WHERE ttl_at IS NOT NULL;
CREATE TABLE wallets (
    workspace_id TEXT PRIMARY KEY, available INTEGER NOT NULL CHECK (available >= 0),
    reserved INTEGER NOT NULL CHECK (reserved >= 0), spent INTEGER NOT NULL CHECK (spent >= 0),
    deposited INTEGER NOT NULL CHECK (deposited = available + reserved + spent)
) STRICT, WITHOUT ROWID;
CREATE TABLE deposits (
    workspace_id TEXT NOT NULL, deposit_id TEXT NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, deposit_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    event_id TEXT PRIMARY KEY, completed_at INTEGER NOT NULL, body BLOB NOT NULL,
    claimed_until INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX events_by_age ON events (completed_at, event_id);
CREATE TABLE schedules (
    schedule_id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, next_at INTEGER, version INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX schedules_of_workspace ON schedules (workspace_id, schedule_id);
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE hooks (hook_id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX hooks_of_workspace ON hooks (workspace_id, hook_id);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE, queue TEXT NOT NULL, workspace_id TEXT NOT NULL,
    sent_at INTEGER NOT NULL, send_no INTEGER NOT NULL, receives INTEGER NOT NULL DEFAULT 0, receipt TEXT,
    hidden_until INTEGER, lent_until INTEGER, loan INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL
) STRICT;
CREATE INDEX messages_ready ON messages (queue, workspace_id, id) WHERE hidden_until IS NULL;
CREATE INDEX messages_hidden ON messages (queue, hidden_until) WHERE hidden_until IS NOT NULL;
CREATE INDEX messages_lent ON messages (queue, lent_until) WHERE lent_until IS NOT NULL;
CREATE TABLE lanes (
    id INTEGER PRIMARY KEY, queue TEXT NOT NULL, workspace_id TEXT NOT NULL, ready INTEGER NOT NULL DEFAULT 0,
    lent INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL DEFAULT 0, UNIQUE (queue, workspace_id)
) STRICT;
CREATE INDEX lanes_by_turn ON lanes (queue, lent, turn, id) WHERE ready > 0;
CREATE INDEX lanes_by_age ON lanes (queue, turn);
"""


def open_file(path: str) -> apsw.Connection:
    """A connection to the file, made if there is none; raises `Unavailable`."""
    if path == MEMORY:
        return _ready(path)
    place = Path(path)
    disk.refuse_network(place, code="LIFEBOOK_ON_NETWORK")
    try:
        with disk.private(), disk.alone(place):
            return _ready(path)
    except OSError as error:
        raise unavailable(path, error) from error


def unavailable(path: str, error: BaseException) -> Unavailable:
    """What a caller is told when the file cannot be read or written."""
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return Unavailable(
            f"The lifebook file {path} is damaged ({error}); restore a backup, or serve jobs alone with "
            "LUCIUS_LIFEBOOK_BACKEND=off",
            code="LIFEBOOK_DAMAGED",
        )
    return Unavailable(
        f"The lifebook file {path} is locked, full or unreadable ({type(error).__name__}: {error}); "
        "nothing was changed, try again later",
        code=CODE,
    )


def _ready(path: str) -> apsw.Connection:
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(path)
        connection.set_busy_handler(_patient)
        connection.execute(PRAGMAS).fetchall()  # apsw stops at the first row until somebody asks for more
        _migrate(path, connection)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, apsw.Error):
            raise unavailable(path, error) from error
        raise
    return connection


def _patient(looks: int) -> bool:
    # SQLite's own waits grow to 100 ms, and it hands its lock to whoever asks first.
    apsw.sleep(_LOOK_MS)
    return looks < _LOOKS


def _migrate(path: str, connection: apsw.Connection) -> None:
    found = connection.pragma("user_version")
    if found > VERSION:
        raise Unavailable(
            f"The lifebook file {path} has schema version {found}, this Lucius knows up to {VERSION}: "
            "start the newer Lucius that wrote it",
            code="LIFEBOOK_TOO_NEW",
        )
    if found < VERSION:
        connection.execute(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT").fetchall()
