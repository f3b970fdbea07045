"""One file into a store, whole or not at all.

What fits into one part goes in one request. More goes in parts, a few at a time (`upload`), so that memory
stays bounded however large the file is. A local file is forced to disk before it counts as written: a job
that says SUCCEEDED must not point at a file that a power cut took.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucius.sdk.workspaces import faults, pieces
from lucius.sdk.workspaces.pieces import Data, Tally
from lucius.sdk.workspaces.places import Place
from lucius.sdk.workspaces.upload import upload

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PART = 8 * pieces.PIECE
PARTS_AT_ONCE = 3


async def write(store: ObjectStore, place: Place, data: Data, *, content_type: str) -> Tally:
    """Write all of the data; its size and hash. An error of the data is raised as it is."""
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
            await _put(store, place, bytes(first), **options)
        else:
            limits = {"chunk_size": PART, "max_concurrency": PARTS_AT_ONCE}
            await upload(store, place, bytes(first), stream, **limits, **options)
    if place.scheme == "file":
        await asyncio.to_thread(_settle, Path("/", place.key))
    return tally


async def _put(store: ObjectStore, place: Place, data: bytes, **options: Any) -> None:
    import obstore  # noqa: PLC0415 - loaded when the first file is written
    from obstore.exceptions import BaseError  # noqa: PLC0415 - as above

    try:
        await obstore.put_async(store, place.key, data, use_multipart=False, **options)
    except (BaseError, OSError) as error:
        raise faults.of_writing(error, place) from error


def _settle(path: Path) -> None:
    for place in (path, path.parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
