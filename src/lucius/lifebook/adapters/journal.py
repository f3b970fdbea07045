"""Events as lines of JSON in a file: where analytics reads without AWS. Readers drop repeated ids."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import structlog

from lucius.errors import Unavailable
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.item import detail_of

_log = structlog.get_logger("lucius.lifebook")


class JournalAnalytics:
    """Appends to a file, and makes sure that it stays."""

    def __init__(self, path: Path | None) -> None:
        """None: events are logged and nothing else."""
        self._path = path

    async def tell(self, event: RunEvent) -> None:
        """One line; it is on the disk when this returns."""
        line = detail_of(event)
        if self._path is not None:
            try:
                _append(self._path, msgspec.json.encode(line) + b"\n")
            except OSError as error:
                raise Unavailable(f"{self._path} cannot be written: {error}") from error
        _log.info(event.name, **{name: value for name, value in line.items() if name != "name"})

    async def close(self) -> None:
        """Nothing is kept open."""


def _append(path: Path, line: bytes) -> None:
    # A crash in the middle of a line leaves half of it; the next one starts on a line of its own.
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(handle, line)
        os.fsync(handle)
    finally:
        os.close(handle)
