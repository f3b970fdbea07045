"""What is counted of lifebook runs, and that counting them changes nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable
from typing import NoReturn

import pytest

from lucius.lifebook.adapters.sqlite import SqliteRuns
from lucius.lifebook.core.commands import Acquire
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.observed import ObservedQueue, ObservedRuns
from lucius.lifebook.ports.queue import MAX_RECEIVES, RunQueue
from lucius.lifebook.ports.store import RunStore
from lucius.lifebook.workflows import PoisonError, StepContext, StepError
from lucius.telemetry.catalogue import LIFEBOOK_UP
from lucius.telemetry.lifebook import PATIENCE, RunWatch, lifebook_gauges
from lucius.telemetry.lifebook_counts import CODES, WORKFLOWS
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.traces import NoTraces
from lucius.testing.lifebook.run_queues import QueueHarness, RunQueueSuite
from lucius.testing.lifebook.run_stores import RunStoreSuite, StoreHarness
from tests.lifebook.observed_world import watched
from tests.lifebook.sqlite_lifebook import Hand, new_queue, opened


def _watch() -> RunWatch:
    return RunWatch(Metrics(clock=Hand(), version="test", tenants=3).runs, NoTraces())


class TestObservedRuns(RunStoreSuite):
    """A store that is watched keeps all promises of its port."""

    @pytest.fixture
    async def harness(self) -> AsyncIterator[StoreHarness]:
        """An empty store in memory, watched."""
        async with opened(":memory:", Hand()) as once_more:

            async def another() -> RunStore:
                return ObservedRuns(SqliteRuns(once_more()), _watch())

            yield StoreHarness(store=await another(), another=another)


class TestObservedQueue(RunQueueSuite):
    """A queue that is watched keeps all promises of its port."""

    @pytest.fixture
    async def harness(self) -> AsyncIterator[QueueHarness]:
        """Two empty queues in memory, one of them watched."""
        clock = Hand()
        async with opened(":memory:", clock) as once_more:

            async def another() -> RunQueue:
                return ObservedQueue(new_queue(once_more()), _watch(), clock=clock)

            async def advance(seconds: float) -> None:
                clock.advance(round(seconds * 1000))

            yield QueueHarness(
                work=await another(), dead=new_queue(once_more(), "dead"), another=another,
                advance=advance, max_receives=MAX_RECEIVES, fences_receipts=True,
            )  # fmt: skip


async def _fine(_context: StepContext) -> None:
    """A step that works."""


async def test_a_run_that_fails_once_and_completes() -> None:
    """Creation, replay, moves, steps, the failure with its code, and credits are counted once each."""

    async def shaky(context: StepContext) -> None:
        if context.attempt == 1:
            raise StepError("not yet", code="NOT_YET")

    async with watched() as here:
        here.world.workflow(_fine, shaky, price=125)
        for _ in range(2):
            await here.created(key="k")
        here.world.time.advance(2)
        await here.once()
        here.world.time.advance(40)
        await here.once()
        counted = await here.counted()
        assert counted["runs_created_total{outcome=fresh,workflow_id=flow}"] == 1
        assert counted["runs_created_total{outcome=replayed,workflow_id=flow}"] == 1
        moves = {status: counted[f"transitions_total{{status={status}}}"] for status in MOVES}
        assert moves == MOVES
        assert counted["attempts_failed_total{code=NOT_YET}"] == 1
        assert counted["step_seconds_count{outcome=done,workflow_id=flow}"] == 2
        assert counted["step_seconds_count{outcome=failed,workflow_id=flow}"] == 1
        assert counted["run_seconds_sum{status=completed,workflow_id=flow}"] == 42
        assert (counted["wait_seconds_count"], counted["wait_seconds_sum"]) == (1, 2)
        assert counted["credits_spent_total"] == 2.5
        assert not [name for name in counted if "acme" in name], "workspaces are no label unless asked for"


MOVES = {"pending": 1, "queued": 1, "running": 2, "failed": 1, "completed": 1}


async def test_what_goes_wrong_is_counted() -> None:
    """Refusals, messages sent again, poison, cancellation and handing on have their numbers."""
    async with watched() as here:
        here.world.workflow(_poison, name="poison")
        here.world.workflow(_fine, name="fine")
        await here.created("poison")
        await here.once()
        run = await here.created("fine")
        await here.control.cancel(run)
        await here.control.cancel(run)
        here.worker.drain()
        await here.created("fine")
        while await here.once():
            here.world.time.advance(0.001)
            if (await here.counted()).get("messages_again_total{reason=continued}"):
                break
        here.world.time.advance(Policy().queue_patience / 1000 + 1)
        await here.sweeper.run_once()
        counted = await here.counted()
    assert counted["attempts_failed_total{code=POISON}"] == 1
    assert counted["refused_total{code=RUN_ENDED,command=cancel}"] == 1
    assert counted["messages_again_total{reason=continued}"] == 1
    assert counted["messages_again_total{reason=overdue}"] == 1
    assert counted["transitions_total{status=dead}"] == 1
    assert counted["transitions_total{status=canceled}"] == 1


async def _poison(_context: StepContext) -> None:
    raise PoisonError("never")


async def test_a_lost_worker_is_counted_by_who_takes_its_run_over() -> None:
    """A worker that vanishes says nothing: its attempt counts as failed when the next one begins."""
    async with watched() as here:
        here.world.workflow(_fine)
        run = await here.created()
        await here.world.changes.apply(run.job_id, Acquire(owner="gone", token="gone"))
        here.world.time.advance(Policy().lease / 1000)
        await here.once()
        counted = await here.counted()
    assert counted["attempts_failed_total{code=WORKER_LOST}"] == 1
    assert counted["transitions_total{status=completed}"] == 1


async def test_a_heartbeat_that_is_not_taken_is_counted() -> None:
    """A store that is away for the length of a heartbeat shows, though the run completes."""
    async with watched() as here:

        async def slow(_context: StepContext) -> None:
            here.world.store.away = lambda name: name == "commit"
            here.world.time.advance(20)
            for _ in range(1000):
                if (await here.counted()).get("heartbeats_missed_total"):
                    break
            here.world.store.away = lambda _name: False

        here.world.workflow(_fine, slow)
        run = await here.created()
        await here.once()
        assert (await here.counted())["heartbeats_missed_total"] == 1
        assert (await here.world.run(run.job_id)).status == "completed"


async def test_labels_are_bounded() -> None:
    """However many workflows, codes and workspaces there are, the series stay few and the rest is `other`."""
    async with watched(tenants=1) as here:
        for number in range(WORKFLOWS + 5):
            here.world.workflow(_failing(f"CODE_{number}"), name=f"flow-{number}", price=0)
            await here.created(f"flow-{number}")
            await here.once()
        counted = await here.counted()
    assert len([name for name in counted if name.startswith("runs_created_total")]) == WORKFLOWS + 1
    assert counted["runs_created_total{outcome=fresh,workflow_id=other}"] == 5
    assert len([name for name in counted if name.startswith("attempts_failed_total")]) == CODES + 1
    assert counted["workspace_runs_total{status=pending,workspace_id=acme}"] == WORKFLOWS + 5


def _failing(code: str) -> object:
    async def fail(_context: StepContext) -> None:
        raise StepError("no", code=code)

    return fail


async def test_what_waits_is_read_at_each_scrape() -> None:
    """Depth, dead letters and the most overdue run are as of now; of a store that is away, that alone."""
    async with watched() as here:
        here.world.workflow(_fine)
        await here.created()
        counted = await here.counted()
        assert (counted["queue_messages{state=visible}"], counted["queue_messages{state=hidden}"]) == (1, 0)
        assert (counted["dead_letters"], counted["overdue_seconds"], counted["up"]) == (0, 0, 1)
        here.world.time.advance(Policy().queue_patience / 1000 + 7)
        assert (await here.counted())["overdue_seconds"] == 7
        here.world.store.away = lambda _name: True
        counted = await here.counted()
        assert counted["up"] == 0
        assert "overdue_seconds" not in counted


async def test_a_store_that_does_not_answer_is_not_up() -> None:
    """Silence is told before the scrape gives up on it: an alert on 0 must not miss a file that is locked."""

    async def silent(*_asked: object) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError

    async with watched() as here:
        store, queue, dead = here.world.store, here.world.queue, here.world.dead
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "due", silent)
            read = lifebook_gauges(store, queue, dead, clock=here.world.time.clock, patience=0.01)()
            assert isinstance(read, Awaitable)
            assert await read == {LIFEBOOK_UP: 0}
    assert inspect.signature(Metrics).parameters["patience"].default > PATIENCE
