from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.lifebook.adapters.sqlite import SqliteQueue
from lucius.lifebook.core.run import envelope_of
from lucius.lifebook.ports.queue import MAX_DELAY_SECONDS, MAX_HIDDEN_SECONDS, MAX_RECEIVES, RunQueue
from lucius.testing.lifebook.run_queues import QueueHarness, RunQueueSuite
from lucius.testing.lifebook.runs import new_run
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


async def test_times_are_cut_at_the_limits() -> None:
    """A delay or a hiding that asks for more than the limits ends at the limit."""
    clock = Hand()
    async with opened(":memory:", clock) as once_more:
        queue = new_queue(once_more())
        await queue.send(envelope_of(new_run()), send_no=1, delay_seconds=10**7)
        clock.advance(MAX_DELAY_SECONDS * 1000)
        [delivery] = await queue.receive(1, wait_seconds=0, hidden_seconds=60)
        await queue.hide(delivery, 10**7)
        clock.advance(MAX_HIDDEN_SECONDS * 1000 - 1)
        assert not await queue.receive(1, wait_seconds=0, hidden_seconds=10**7)
        clock.advance(1)
        assert await queue.receive(1, wait_seconds=0, hidden_seconds=10**7)
        clock.advance(MAX_HIDDEN_SECONDS * 1000)
        assert await queue.receive(1, wait_seconds=0, hidden_seconds=60)


async def test_a_receiver_is_woken_without_looking() -> None:
    """What a process sends, gives back or lets die wakes its own receivers, before they would look."""

    async def never(_seconds: float) -> None:
        await asyncio.Event().wait()

    numbers = iter(range(1000))
    async with opened(":memory:", Hand()) as once_more, asyncio.timeout(10):
        work, dead = (
            SqliteQueue(
                once_more(), name, dead=to, max_receives=2, sleep=never, new_id=lambda: str(next(numbers))
            )
            for name, to in (("work", "dead"), ("dead", None))
        )
        waiting = asyncio.create_task(work.receive(1, wait_seconds=20, hidden_seconds=60))
        letter = asyncio.create_task(dead.receive(1, wait_seconds=20, hidden_seconds=60))
        assert (await work.depth()).visible == 0
        await work.send(envelope_of(new_run()), send_no=1)
        receives = []
        for _ in range(2):
            [delivery] = await waiting
            receives.append(delivery.receives)
            waiting = asyncio.create_task(work.receive(1, wait_seconds=20, hidden_seconds=60))
            assert (await work.depth()).hidden == 1
            await work.hide(delivery, 0)
        [moved] = await letter
        assert receives == [1, 2]
        assert moved.receives == 3
        waiting.cancel()
        await asyncio.wait([waiting])
