"""One file into a store, whole or not at all.

What fits into one part goes in one request. More goes in parts, a few at a time, so that memory stays
bounded however large the file is. If the data ends in an error, the upload is thrown away and the error
raised as it is. A local file is forced to disk before it counts as written: a job that says SUCCEEDED
must not point at a file that a power cut took.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lucius.sdk.workspaces import faults, pieces
from lucius.sdk.workspaces.pieces import Data, Tally
from lucius.sdk.workspaces.places import Place

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PART = 8 * pieces.PIECE
PARTS_AT_ONCE = 3


async def write(store: ObjectStore, place: Place, data: Data, *, content_type: str) -> Tally:
    """Write all of the data; its size and hash."""
    # The local store has nowhere to keep a content type, and says so by failing.
    options: dict[str, Any] = {} if place.scheme == "file" else {"attributes": {"Content-Type": content_type}}
    tally = Tally()
    async with aclosing(tally.over(pieces.of(data))) as stream:
        first = bytearray()
        async for piece in stream:
            first += piece
            if len(first) >= PART:
                break
        if len(first) < PART:
            await _put(store, place, bytes(first), use_multipart=False, **options)
        else:
            limits = {"chunk_size": PART, "max_concurrency": PARTS_AT_ONCE}
            await _put(store, place, _Joined(bytes(first), stream), use_multipart=True, **limits, **options)
    if place.scheme == "file":
        await asyncio.to_thread(_settle, Path("/", place.key))
    return tally


async def _put(store: ObjectStore, place: Place, data: bytes | _Joined, **options: Any) -> None:
    import obstore  # noqa: PLC0415 - loaded when the first file is written
    from obstore.exceptions import BaseError  # noqa: PLC0415 - as above

    try:
        await obstore.put_async(store, place.key, data, **options)
    except (BaseError, OSError) as error:
        if isinstance(data, _Joined) and data.failed is error:  # the store is well: the data was not
            raise
        raise faults.of_writing(error, place) from error


class _Joined:
    """What was read already, then the rest; remembers how the rest failed."""

    def __init__(self, first: bytes, rest: AsyncIterator[bytes]) -> None:
        self._first: bytes | None = first
        self._rest = rest
        self.failed: Exception | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return await anext(self._rest)
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.failed = error
            raise


def _settle(path: Path) -> None:
    for place in (path, path.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
