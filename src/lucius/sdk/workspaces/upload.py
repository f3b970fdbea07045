"""A large file into a store, part by part, and thrown away as a whole if anything stops it.

    the data ──feed──▶ belt (a few pieces) ──▶ the store's upload

Two tasks that live no longer than the call. The data is driven here and never by the store, so that its
own clean-up runs in order. If the data fails, or the caller is cancelled, the belt breaks: that makes the
store abort its upload. If the store fails, the feeding stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Self

from lucius.sdk.workspaces import faults
from lucius.sdk.workspaces.places import Place

if TYPE_CHECKING:
    from obstore.store import ObjectStore

AHEAD = 2
ABORT_SECONDS = 5.0
"""How long a store may take to abort; then it is left to itself, and what it got is never seen."""


class _CutOff(Exception):  # noqa: N818 - it never leaves this module
    """The data will not go on."""


class _Belt:
    """Pieces on their way, in order."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[bytes | _CutOff | None] = asyncio.Queue(AHEAD)

    async def feed(self, first: bytes, rest: AsyncIterator[bytes]) -> None:
        """Lay all pieces on, and then the end."""
        await self._pieces.put(first)
        async for piece in rest:
            await self._pieces.put(piece)
        await self._pieces.put(None)

    def tear(self) -> None:
        """Whoever takes the next piece learns that there is none."""
        while not self._pieces.empty():
            self._pieces.get_nowait()
        self._pieces.put_nowait(_CutOff())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._pieces.get()
        if piece is None:
            raise StopAsyncIteration
        if isinstance(piece, _CutOff):
            raise piece
        return piece


async def upload(
    store: ObjectStore, place: Place, first: bytes, rest: AsyncIterator[bytes], **options: Any
) -> None:
    """Send all pieces. An error of the data is raised as it is, one of the store as `faults` tells."""
    import obstore  # noqa: PLC0415 - loaded when the first file is written
    from obstore.exceptions import BaseError  # noqa: PLC0415 - as above

    belt = _Belt()
    feeding = asyncio.create_task(belt.feed(first, rest))
    sending = asyncio.ensure_future(obstore.put_async(store, place.key, belt, use_multipart=True, **options))
    try:
        await asyncio.wait({feeding, sending}, return_when=asyncio.FIRST_EXCEPTION)
        if feeding.done():
            feeding.result()  # the data's own error goes first
        sending.result()
    except (BaseError, OSError) as error:
        if feeding.done() and feeding.exception() is error:
            raise
        raise faults.of_writing(error, place) from error
    finally:
        await _ended(belt, feeding, sending)


async def _ended(belt: _Belt, feeding: asyncio.Task[None], sending: asyncio.Future[Any]) -> None:
    """Leave nothing behind: neither a task that runs on, nor an upload that waits for more."""
    feeding.cancel()
    if not sending.done():
        belt.tear()
        await asyncio.wait({sending}, timeout=ABORT_SECONDS)
        sending.cancel()
    await asyncio.gather(feeding, sending, return_exceptions=True)
