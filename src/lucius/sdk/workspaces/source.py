"""Something to read: a document, or what an earlier step put out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from lucius.core.job import Ref


class Source:
    """A reference that can be read."""

    ref: Ref
    uri: str
    content_type: str | None
    size: int | None
    sha256: str | None

    async def read(self, *, limit: int | None = None) -> bytes:
        """All of it."""
        raise NotImplementedError

    async def text(self) -> str:
        """All of it, as UTF-8."""
        raise NotImplementedError

    async def json(self) -> Any:
        """All of it, parsed."""
        raise NotImplementedError

    def stream(self) -> AsyncIterator[bytes]:
        """Piece by piece."""
        raise NotImplementedError

    async def save(self, path: Path) -> Path:
        """Copied to a local file, piece by piece; its path."""
        raise NotImplementedError
