"""What everybody who keeps a SQLite file needs of the disk: a local one, to be alone, and no other readers.

Whoever shares a file with other processes opens it and makes its tables inside `alone`: a switch to WAL does
not wait for others by itself. The lock is a file beside it and ends with the block, or with the process.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lucius.errors import Unavailable

#: File systems on which SQLite's locks or `fsync` cannot be trusted.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ceph"}
)
MOUNTS: Final = Path("/proc/mounts")


def refuse_network(path: Path, *, code: str, mounts: Path = MOUNTS) -> None:
    """Raise `Unavailable` with this code where nothing could be promised, instead of losing something."""
    if not mounts.exists():
        return
    parent = path.resolve().parent
    best, kind = "", ""
    for line in mounts.read_text().splitlines():
        _, point, found, *_ = line.split(" ")
        if (parent == Path(point) or parent.is_relative_to(point)) and len(point) >= len(best):
            best, kind = point, found
    if kind in NETWORK_FILE_SYSTEMS:
        raise Unavailable(f"{parent} is on {kind}: SQLite is not safe there; choose a local disk", code=code)


def lock_file(path: Path) -> Path:
    """The file whose lock stands for this one."""
    return path.with_suffix(path.suffix + ".lock")


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process at a time; waits for its turn."""
    with lock_file(path).open("a+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def private() -> Iterator[None]:
    """Files made in this block are for nobody but their owner."""
    old = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(old)
