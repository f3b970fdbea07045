"""One of several processes on a data directory does what must not be done twice.

    asking ──lock free──▶ leading ──process ends, however──▶ the next one leads

A lock on a file decides; the system lets go of it when its process ends, even by `kill -9`. A process that
is stopped (SIGSTOP) keeps it: nobody takes over from one that might wake up and go on.
"""

from __future__ import annotations

import fcntl
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

LOOK = 1.0
"""Seconds between two looks whether the leader is gone."""


class Leadership:
    """The right to do what one process does for all. Without a file there are no others."""

    def __init__(self, path: Path | None, *, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._path = path
        self._sleep = sleep
        self._held: IO[str] | None = None

    async def won(self) -> None:
        """Wait until this process leads."""
        while self._path is not None and self._held is None:
            handle = self._path.open("a+")
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                handle.close()
                await self._sleep(LOOK)
            else:
                self._held = handle

    def close(self) -> None:
        """Let the next one lead."""
        if self._held is not None:
            self._held.close()
            self._held = None
