"""API keys in a small SQLite file of their own, so that the CLI can change them while a server runs.

Every `find` asks SQLite for its `data_version` (2 to 3 µs: a look at shared memory) and rereads all
keys only when another connection has written. So a revoked key is refused from the next request on,
and the hot path is one dictionary lookup. The file is in WAL mode: a writer never makes it wait.

Fails as `Unavailable` when the file cannot be opened or read; nothing is served from memory then,
because a keyring that cannot hear of revocations must not vouch for keys.
"""

from __future__ import annotations

import builtins
import os
from pathlib import Path

import apsw
import msgspec

from lucius.errors import NotFound, Refused, Unavailable
from lucius.security.keys import ApiKey

_SCHEMA = """
CREATE TABLE IF NOT EXISTS api_keys (
    key_id     TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    record     BLOB NOT NULL
) STRICT, WITHOUT ROWID
"""
_SCHEMA_VERSION = 1
_BUSY_MS = 2_000


class SqliteKeyring:
    """A `Keyring` on one SQLite file (or `:memory:`)."""

    def __init__(self, path: Path | str) -> None:
        self._path = str(path)
        self._keys: dict[str, ApiKey] = {}
        self._seen: int | None = None
        try:
            self._db = _opened(self._path)
        except (apsw.Error, OSError) as error:
            raise Unavailable(f"The keyring {self._path} cannot be opened: {error}.") from error

    def add(self, key: ApiKey) -> None:
        """Keep a new key."""
        row = (key.key_id, key.created_at, msgspec.msgpack.encode(key))
        try:
            self._db.execute("INSERT INTO api_keys VALUES (?, ?, ?)", row)
        except apsw.ConstraintError:
            raise Refused(f"The key id {key.key_id} is taken; make another key.") from None
        except apsw.Error as error:
            raise self._away(error) from error
        self._seen = None

    def revoke(self, key_id: str, now: int) -> bool:
        """End a key for good."""
        try:
            with self._db:
                self._reread()
                key = self._keys.get(key_id)
                if key is None:
                    raise NotFound(f"There is no key {key_id}.")
                if key.revoked_at is not None:
                    return False
                record = msgspec.msgpack.encode(msgspec.structs.replace(key, revoked_at=now))
                self._db.execute("UPDATE api_keys SET record = ? WHERE key_id = ?", (record, key_id))
        except apsw.Error as error:
            raise self._away(error) from error
        finally:
            self._seen = None
        return True

    def find(self, key_id: str) -> ApiKey | None:
        """The key of that id, as of now."""
        self._refresh()
        return self._keys.get(key_id)

    def list(self) -> builtins.list[ApiKey]:
        """Every key ever made, oldest first."""
        self._refresh()
        return list(self._keys.values())

    def any(self) -> bool:
        """Whether a key was ever made."""
        self._refresh()
        return bool(self._keys)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _refresh(self) -> None:
        """Reread when somebody has written: this connection (`_seen` is None) or another one."""
        try:
            version = self._db.execute("PRAGMA data_version").get
            if version != self._seen:
                self._reread()
                # The version from before the read: a write in between costs one more read, never a miss.
                self._seen = version
        except apsw.Error as error:
            raise self._away(error) from error

    def _reread(self) -> None:
        rows = self._db.execute("SELECT record FROM api_keys ORDER BY created_at, key_id")
        keys = (msgspec.msgpack.decode(record, type=ApiKey) for (record,) in rows)
        self._keys = {key.key_id: key for key in keys}

    def _away(self, error: apsw.Error) -> Unavailable:
        self._seen = None
        return Unavailable(f"The keyring {self._path} cannot be used: {error}.")


def _opened(path: str) -> apsw.Connection:
    if path != ":memory:":
        # Born private; SQLite gives the -wal and -shm files the same mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        if os.name == "posix" and Path(path).stat().st_mode & 0o077:
            Path(path).chmod(0o600)
    db = apsw.Connection(path)
    db.set_busy_timeout(_BUSY_MS)
    db.transaction_mode = "IMMEDIATE"
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    version = db.execute("PRAGMA user_version").get
    if version > _SCHEMA_VERSION:
        raise OSError(f"it was written by a newer Lucius (schema {version})")
    if version < _SCHEMA_VERSION:
        with db:
            db.execute(_SCHEMA)
            db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    return db
