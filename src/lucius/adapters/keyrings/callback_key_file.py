"""Callback keys in `<data>/secrets/callback-keys.json`, readable by its owner only.

The file is made whole or not at all: written beside its place, flushed, then linked (first one wins
when two processes start together) or renamed over the old one (rotation). A file that others can
read, that does not parse or that holds a weak secret stops the start with a sentence; it is never
replaced silently, because that would void every token in flight.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from lucius.errors import Invalid
from lucius.security.callback_keys import TOKEN_LIFETIME_MS, CallbackKey, CallbackKeys, new_key, rotated

_OTHERS = 0o077


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    key_id: str
    secret: bytes
    created_at: int
    active_from: int


class _Content(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    keys: tuple[_Entry, ...]


class CallbackKeyFile:
    """The file, and the keys last read from it."""

    def __init__(self, path: Path, *, token_bytes: Callable[[int], bytes]) -> None:
        self._path = path
        self._token_bytes = token_bytes
        self._seen: tuple[int, int, int] | None = None

    def load_or_create(self, now: int) -> CallbackKeys:
        """Read the keys; make the file with one key when there is none."""
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(CallbackKeys([new_key(now=now, token_bytes=self._token_bytes)]), replace=False)
        return self._read()

    def reload(self) -> CallbackKeys | None:
        """The keys when the file has changed since they were last read, else None."""
        return None if self._stamp() == self._seen else self._read()

    def rotate(self, now: int, *, lifetime: int = TOKEN_LIFETIME_MS) -> CallbackKeys:
        """Add a key; running processes pick it up at their next `reload`, before it starts to sign."""
        keys = rotated(self._read(), now=now, token_bytes=self._token_bytes, lifetime=lifetime)
        self._write(keys, replace=True)
        return self._read()

    def _stamp(self) -> tuple[int, int, int]:
        stat = self._path.stat()
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> CallbackKeys:
        stamp = self._stamp()
        if os.name == "posix" and self._path.stat().st_mode & _OTHERS:
            raise Invalid(
                f"Others can read the callback keys; run: chmod 600 {self._path}", code="SECRETS_EXPOSED"
            )
        try:
            content = msgspec.json.decode(self._path.read_bytes(), type=_Content)
        except msgspec.MsgspecError:
            # Not the parser's message: it may quote what it could not read.
            raise Invalid(
                f"{self._path} is not a callback key file; restore it from a backup, or remove it "
                "and every directive in flight is sent again after its lease.",
                code="BAD_KEY_FILE",
            ) from None
        if content.version != 1:
            raise Invalid(f"{self._path} was written by a newer Lucius.", code="BAD_KEY_FILE")
        keys = CallbackKeys(
            CallbackKey(
                key_id=entry.key_id,
                secret=entry.secret,
                created_at=entry.created_at,
                active_from=entry.active_from,
            )
            for entry in content.keys
        )
        self._seen = stamp
        return keys

    def _write(self, keys: CallbackKeys, *, replace: bool) -> None:
        content = _Content(
            version=1,
            keys=tuple(
                _Entry(
                    key_id=key.key_id,
                    secret=key.secret,
                    created_at=key.created_at,
                    active_from=key.active_from,
                )
                for key in keys.keys
            ),
        )
        beside = self._path.with_name(f".{self._path.name}.{self._token_bytes(8).hex()}")
        handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(content), indent=2))
                file.flush()
                os.fsync(file.fileno())
            if replace:
                beside.replace(self._path)
            else:
                self._link(beside)
            _flush_directory(self._path.parent)
        finally:
            beside.unlink(missing_ok=True)

    def _link(self, beside: Path) -> None:
        try:
            self._path.hardlink_to(beside)
        except FileExistsError:
            # Another process was first; its keys are the keys.
            return


def _flush_directory(path: Path) -> None:
    """A new name is durable only when its directory is."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
