"""Where one attempt writes, and no other."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from lucius.sdk.serving.outcomes import Artifact


class Workspace:
    """The folder `{step_type}/{attempt_no}/` of a job's workspace."""

    uri: str

    async def write(
        self, name: str, data: bytes | str | Path | AsyncIterable[bytes], *, content_type: str | None = None
    ) -> Artifact:
        """Write one file; what to return from `execute`."""
        raise NotImplementedError

    async def write_json(self, name: str, value: Any) -> Artifact:
        """Write one JSON file."""
        raise NotImplementedError
