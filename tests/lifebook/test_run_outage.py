"""The store is away and the queue is not: what messages and pollers do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import apsw
import pytest

from lucius.errors import Broken, Unavailable
from lucius.lifebook.adapters.sqlite import LifebookFile
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.states import Status
from lucius.lifebook.worker.poller import Poller
from lucius.lifebook.workflows import StepContext
from tests.lifebook.world import VirtualTime, World, opened

HASTY = Policy(backoff=(0,))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A lifebook in virtual time, whose failures are tried again at once."""
    async with opened(HASTY) as made:
        yield made


async def quick(_context: StepContext) -> None:
    """A step."""


async def test_an_outage_of_an_hour_ends_no_run(world: World) -> None:
    """However short the backoff is, receives do not run out while nobody can look at the record."""
    world.workflow(quick)
    run = await world.created()
    world.store.away = lambda _name: True
    worker = world.worker()
    for _ in range(360):
        await world.once(worker)
        world.time.advance(10)
    world.store.away = lambda _name: False
    await world.letters.run_once()
    assert (await world.run(run.job_id)).status is Status.QUEUED
    world.time.advance(1801)
    await world.until_quiet(worker)
    assert (await world.run(run.job_id)).status is Status.COMPLETED


async def test_a_poller_takes_nothing_while_the_store_is_away(world: World) -> None:
    """One message finds out; the others keep their receives. When it is asked to stop, it does so at once."""
    world.workflow(quick)
    for _ in range(5):
        await world.created()
    world.store.away = lambda _name: True
    resting = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        resting.set()
        await asyncio.Event().wait()

    poller = Poller(
        world.worker(), world.queue, policy=HASTY, sleep=sleep, concurrency=1, wait_seconds=0
    )  # fmt: skip
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(poller.run())
        await resting.wait()
        assert (await world.queue.depth()).visible == 4
        await poller.stop(5)


class Failing:
    """A connection whose disk fails at the next commit."""

    def __init__(self, inner: apsw.Connection) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def execute(self, statement: str, *given: Any) -> Any:
        """All but a commit."""
        if statement == "COMMIT":
            raise apsw.IOError("disk I/O error")
        return self._inner.execute(statement, *given)


async def test_a_failed_disk_ends_the_poller() -> None:
    """Nothing helps but another start: who waited for it in the same process would wait for ever."""
    time = VirtualTime()
    file = LifebookFile(":memory:", clock=time.clock)
    world = World(file, time, HASTY)
    world.workflow(quick)
    run = await world.created()
    whole = file._connection
    file._connection = Failing(whole)  # type: ignore[assignment]
    with pytest.raises(Unavailable, match="disk I/O error"):
        await world.created()
    file._connection = whole
    with pytest.raises(Broken, match="start this process again"):
        await world.run(run.job_id)
    poller = Poller(world.worker(), world.queue, policy=HASTY, sleep=time.sleep, concurrency=2)
    with pytest.raises(ExceptionGroup) as ended:
        await asyncio.wait_for(poller.run(), 10)
    assert ended.group_contains(Broken)
    await file.close()
