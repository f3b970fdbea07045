"""Lifebook files for tests: opened as often as a test wants, all closed at its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteQueue
from lucius.lifebook.ports.queue import MAX_RECEIVES
from lucius.testing.jobs import Hand


@asynccontextmanager
async def opened(path: Path | str, clock: Callable[[], int]) -> AsyncIterator[Callable[[], LifebookFile]]:
    """A function that opens the file once more; in memory it gives the same one again."""
    files: list[LifebookFile] = []

    def once_more() -> LifebookFile:
        if str(path) != ":memory:" or not files:
            files.append(LifebookFile(str(path), clock=clock))
        return files[-1]

    try:
        yield once_more
    finally:
        for file in files:
            await file.close()


def new_queue(file: LifebookFile, name: str = "work", *, max_receives: int = MAX_RECEIVES) -> SqliteQueue:
    """The work queue, which moves to `dead`; or the dead letters."""
    dead = "dead" if name == "work" else None
    return SqliteQueue(
        file, name, dead=dead, max_receives=max_receives, sleep=asyncio.sleep, new_id=lambda: str(uuid4())
    )


__all__ = ["Hand", "new_queue", "opened"]
