"""A directory for temporary files, made when it is first asked for: most work never does.

Making and removing a directory costs more than everything else the SDK does for a step. It may be asked for
from any thread. Files in it that cannot be removed are left behind without a word.

A process that is killed leaves its directories behind, with the documents in them. So each one is locked
for as long as it is in use, and `sweep` removes those that nobody has locked: the kernel drops the locks of
the dead. Where a file system knows no locks, nothing is swept.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

PREFIX: Final = "lucius-scratch-"
SETTLED: Final = 60.0
"""Seconds after which a directory without a lock is not one that is just being made."""


class Scratch:
    """Below `root`, or where the system puts temporary files; gone on the way out."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._making = threading.Lock()
        self._made: tempfile.TemporaryDirectory[str] | None = None
        self._lock: int | None = None

    def path(self) -> Path:
        """The directory, always the same one."""
        with self._making:
            if self._made is None:
                self._made = tempfile.TemporaryDirectory(
                    prefix=PREFIX, dir=self._root, ignore_cleanup_errors=True
                )
                self._lock = _locked(Path(self._made.name))
            return Path(self._made.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._making:
            if self._made is not None:
                self._made.cleanup()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None


def sweep(root: Path | None, now: float) -> int:
    """Remove what killed processes left below `root`; how many directories. `now`: seconds of the epoch."""
    swept = 0
    for left in Path(root or tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            status = left.lstat()
        except OSError:
            continue  # somebody else was quicker
        ours = status.st_uid == os.getuid() and left.is_dir() and not left.is_symlink()
        if not ours or now - status.st_mtime < SETTLED:
            continue
        lock = _locked(left)
        if lock is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
            swept += 1
    return swept


def _locked(directory: Path) -> int | None:
    """The handle that holds the lock of a directory; None if somebody has it, or there are no locks."""
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
