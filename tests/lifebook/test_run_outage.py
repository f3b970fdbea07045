"""The store is away and the queue is not: what messages and pollers do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.states import Status
from lucius.lifebook.worker.poller import Poller
from lucius.lifebook.workflows import StepContext
from tests.lifebook.world import World, opened

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
