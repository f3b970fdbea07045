"""Where one attempt writes, and no other: `{workspace}/{step_type}/{attempt_no}/{name}`.

A file is there as a whole or not at all: small ones go in one request, large ones in parts that the store
joins at the end, local ones under a temporary name until they are complete. Writing a name again replaces
the file. Work that fails or is stopped takes its unfinished upload back. What a killed process had sent is
never seen as a file, but stays: in a directory as `name#1`, in a bucket of S3 until a lifecycle rule
(AbortIncompleteMultipartUpload) removes it.

How it fails: INVALID_NAME for a name that could mean another place, else as `faults` tells.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lucius.core.refs import MAX_URI
from lucius.sdk.serving.outcomes import Artifact, Final
from lucius.sdk.workspaces import media, writing
from lucius.sdk.workspaces.places import Place, check_name

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class Workspace:
    """The folder `{step_type}/{attempt_no}/` of a job's workspace. Made by `Stores.workspace`."""

    def __init__(self, place: Place, open_store: Callable[[Place], ObjectStore]) -> None:
        self.uri = f"{place.uri}/"
        self._place = place
        self._open = open_store

    async def write(
        self, name: str, data: bytes | str | Path | AsyncIterable[bytes], *, content_type: str | None = None
    ) -> Artifact:
        """Write one file; what to return from `execute`. A `Path` is a local file to copy."""
        check_name(name)
        place = self._place.below(name)
        if len(place.uri) > MAX_URI:
            raise Final("INVALID_NAME", f"{place.shown} is longer than {MAX_URI} characters.")
        kind = content_type or media.by_name(name) or media.UNKNOWN
        tally = await writing.write(self._open(place), place, data, content_type=kind)
        return Artifact(name=name, uri=place.uri, content_type=kind, size=tally.size, sha256=tally.sha256)

    async def write_json(self, name: str, value: Any) -> Artifact:
        """Write one JSON file."""
        return await self.write(name, msgspec.json.encode(value), content_type="application/json")
