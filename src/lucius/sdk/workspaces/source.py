"""Something to read: a document, or what an earlier step put out.

State: none but the reference; each read starts anew, and nothing is kept. What the reference says about
size and SHA-256 is checked while the bytes pass.

How it fails: as `faults` tells, and INPUT_CORRUPT if the bytes are not those the reference speaks of.
That is final: a transfer that breaks off is noticed by itself (and retryable), so what differs is what
is stored, and it will differ again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from lucius.core.job import Ref
from lucius.sdk.serving.outcomes import Final
from lucius.sdk.workspaces import media
from lucius.sdk.workspaces.pieces import Tally
from lucius.sdk.workspaces.places import Place

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Source:
    """A reference that can be read. Made by `Stores.source`."""

    def __init__(
        self, ref: Ref, place: Place, open_stream: Callable[[], AsyncGenerator[bytes, None]]
    ) -> None:
        self.ref = ref
        self.uri = place.uri
        self.name = str(ref.get("name") or place.name)
        """The file's name, the last part of its path unless the reference says another."""
        self.content_type = _content_type(ref, place)
        """What the reference says, or else what the name suggests; None: nobody knows."""
        self.size = _size(ref)
        self.sha256 = _sha256(ref)
        self._place = place
        self._open = open_stream

    async def read(self, *, limit: int | None = None) -> bytes:
        """All of it; `Final` INPUT_TOO_LARGE if that is more than `limit` bytes."""
        whole = bytearray()
        if limit is not None and self.size is not None and self.size > limit:
            raise self._too_large(limit)
        async with aclosing(self._verified()) as pieces:
            async for piece in pieces:
                whole += piece
                if limit is not None and len(whole) > limit:
                    raise self._too_large(limit)
        return bytes(whole)

    async def text(self, *, limit: int | None = None) -> str:
        """All of it, as UTF-8 (without a byte order mark); `Final` INPUT_NOT_TEXT if it is none."""
        try:
            return (await self.read(limit=limit)).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"{self._place.shown} is not UTF-8 text (at byte {error.start})."
            raise Final("INPUT_NOT_TEXT", message) from None

    async def json(self, *, limit: int | None = None) -> Any:
        """All of it, parsed; `Final` INPUT_NOT_JSON if it is none."""
        try:
            return msgspec.json.decode(await self.read(limit=limit))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Final("INPUT_NOT_JSON", f"{self._place.shown} is not JSON.") from None

    def stream(self) -> AsyncIterator[bytes]:
        """Piece by piece. Whether it was all as the reference says is known only after the last piece."""
        return self._verified()

    async def save(self, path: Path, *, limit: int | None = None) -> Path:
        """Copied to a local file, piece by piece; its path. The file is there only when all is well.

        More than `limit` bytes fail as INPUT_TOO_LARGE, before they fill the disk.
        """
        if limit is not None and self.size is not None and self.size > limit:
            raise self._too_large(limit)
        saved = 0
        partial = path.with_name(f".{path.name}.part")
        file = await asyncio.to_thread(partial.open, "wb")
        try:
            with file:
                async with aclosing(self._verified()) as pieces:
                    async for piece in pieces:
                        saved += len(piece)
                        if limit is not None and saved > limit:
                            raise self._too_large(limit)
                        await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(partial.replace, path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    async def _verified(self) -> AsyncGenerator[bytes, None]:
        tally = Tally()
        async with aclosing(self._open()) as pieces:
            async for piece in tally.over(pieces):
                if self.size is not None and tally.size > self.size:
                    raise self._corrupt(f"more than the {self.size} bytes it should have")
                yield piece
        if self.size is not None and tally.size != self.size:
            raise self._corrupt(f"{tally.size} bytes instead of {self.size}")
        if self.sha256 is not None and tally.sha256 != self.sha256:
            raise self._corrupt("another SHA-256 than it should have")

    def _corrupt(self, how: str) -> Final:
        return Final(
            "INPUT_CORRUPT", f"{self._place.shown} is not the file the reference means: it has {how}."
        )

    def _too_large(self, limit: int) -> Final:
        return Final("INPUT_TOO_LARGE", f"{self._place.shown} has more than {limit} bytes.")


def _content_type(ref: Ref, place: Place) -> str | None:
    given = ref.get("content_type")
    if isinstance(given, str) and given:
        return given
    return media.by_name(str(ref.get("name") or "")) or media.by_name(place.name)


def _size(ref: Ref) -> int | None:
    size = ref.get("size")
    if size is not None and (type(size) is not int or size < 0):
        raise Final("INVALID_REF", "The size of a reference must be a number of bytes.")
    return size


def _sha256(ref: Ref) -> str | None:
    given = ref.get("sha256")
    if given is None:
        return None
    if not isinstance(given, str) or _SHA256.fullmatch(given.lower()) is None:
        raise Final("INVALID_REF", "The sha256 of a reference must be 64 hex digits.")
    return given.lower()
