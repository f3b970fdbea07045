"""Data as a stream of pieces of about a megabyte, and what is learned while it passes.

State: a `Tally` counts and hashes what went through it. Files are read in a thread, so that a slow disk
stops nobody's heartbeat.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterable
from pathlib import Path

PIECE = 1024 * 1024

Data = bytes | bytearray | memoryview | str | Path | AsyncIterable[bytes]


class Tally:
    """Size and SHA-256 of what has passed."""

    def __init__(self) -> None:
        self.size = 0
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """As hex digits."""
        return self._digest.hexdigest()

    def add(self, piece: bytes) -> None:
        """Take one piece into account."""
        self.size += len(piece)
        self._digest.update(piece)

    async def over(self, pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        """The same pieces, counted."""
        async for piece in pieces:
            self.add(piece)
            yield piece


async def of(data: Data) -> AsyncGenerator[bytes, None]:
    """Whatever can be written, piece by piece."""
    if isinstance(data, Path):
        async for piece in of_file(data):
            yield piece
    elif isinstance(data, AsyncIterable):
        async for given in data:
            for piece in _cut(given):
                yield piece
    else:
        for piece in _cut(data.encode() if isinstance(data, str) else data):
            yield piece


async def of_file(path: Path) -> AsyncGenerator[bytes, None]:
    """A local file, piece by piece."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
    finally:
        file.close()


def _cut(data: bytes | bytearray | memoryview) -> list[bytes]:
    """In pieces, so that hashing one never takes long; nothing is copied that is small already."""
    if isinstance(data, bytes) and len(data) <= PIECE:
        return [data]
    whole = memoryview(data).cast("B")
    return [bytes(whole[start : start + PIECE]) for start in range(0, len(whole), PIECE)]
