"""A file system that forgets what was never synced, and that can be told to fail.

It stands between SQLite and the disk and remembers, for each file, what the last `fsync` covered and
what was written since. `image` is what a machine could find after losing its power now: everything that
was synced, and of the rest any part, the last write perhaps torn.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

Snapshot = dict[str, tuple[bytes, list[tuple[int, bytes | None]]]]


class _Disk:
    """What is safe, and what is on its way, by file."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.safe: dict[str, bytearray] = {}
        self.loose: dict[str, list[tuple[int, bytes | None]]] = {}
        self.fail: dict[str, type[Exception]] = {}

    def note(self, name: str, offset: int, data: bytes | None) -> None:
        with self.guard:
            self.loose.setdefault(name, []).append((offset, data))

    def sync(self, name: str) -> None:
        with self.guard:
            content = self.safe.setdefault(name, bytearray())
            for offset, data in self.loose.pop(name, ()):
                _apply(content, offset, data)

    def forget(self, name: str) -> None:
        with self.guard:
            self.safe.pop(name, None)
            self.loose.pop(name, None)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class _File(apsw.VFSFile):
    def __init__(self, disk: _Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = str(name.filename() if hasattr(name, "filename") else name)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if "write" in self._disk.fail:
            raise self._disk.fail["write"]
        self._disk.note(self._name, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.note(self._name, newsize, None)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if "sync" in self._disk.fail:
            raise self._disk.fail["sync"]
        super().xSync(flags)
        self._disk.sync(self._name)


class PowerLoss(apsw.VFS):
    """SQLite's default file system while `installed`."""

    def __init__(self) -> None:
        self.disk = _Disk()
        super().__init__("power", base="unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """A file that is watched."""
        return _File(self.disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """A file that is gone is gone."""
        self.disk.forget(filename)
        super().xDelete(filename, syncdir)

    def snapshot(self) -> Snapshot:
        """What is safe and what is not, now."""
        disk = self.disk
        with disk.guard:
            names = {*disk.safe, *disk.loose}
            return {name: (bytes(disk.safe.get(name, b"")), list(disk.loose.get(name, ()))) for name in names}


@contextmanager
def installed() -> Iterator[PowerLoss]:
    """Let every connection go through it for a while."""
    power = PowerLoss()
    try:
        yield power
    finally:
        power.unregister()


def image(snapshot: Snapshot, source: Path, target: Path, chance: random.Random) -> Path:
    """One of the things a disk may hold after the power went at that moment."""
    target.mkdir()
    for name, (safe, loose) in snapshot.items():
        if not name.startswith(str(source)) or name.endswith("-journal"):
            continue
        content = bytearray(safe)
        for offset, data in loose:
            kept = chance.random()
            if kept < 0.5:
                _apply(content, offset, data)
            elif kept < 0.7 and data is not None:
                _apply(content, offset, data[: chance.randrange(len(data) + 1)])
        (target / Path(name).name).write_bytes(content)
    return target / source.name
