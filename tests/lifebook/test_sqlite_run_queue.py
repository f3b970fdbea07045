from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.lifebook.ports.queue import MAX_RECEIVES, RunQueue
from lucius.testing.lifebook.run_queues import QueueHarness, RunQueueSuite
from tests.lifebook.sqlite_lifebook import Hand, new_queue, opened


class TestSqliteQueue(RunQueueSuite):
    """The embedded queue keeps the promises of its port, in a file and in memory."""

    @pytest.fixture(params=["file", "memory"])
    async def harness(self, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[QueueHarness]:
        """Two empty queues, and a clock that is moved by hand."""
        clock = Hand()
        path = tmp_path / "lifebook.db" if request.param == "file" else ":memory:"
        async with opened(path, clock) as once_more:

            async def another() -> RunQueue:
                return new_queue(once_more())

            async def advance(seconds: float) -> None:
                clock.advance(round(seconds * 1000))

            file = once_more()
            yield QueueHarness(
                work=new_queue(file),
                dead=new_queue(file, "dead"),
                another=another,
                advance=advance,
                max_receives=MAX_RECEIVES,
                fences_receipts=True,
            )
