"""A lifebook in virtual time whose runs are watched, and what the watch counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lucius.lifebook.core.run import Run
from lucius.lifebook.duties.sweeper import Sweeper
from lucius.lifebook.observed import ObservedQueue, ObservedRuns
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.control import Control
from lucius.lifebook.usecases.create import Create, RunRequest
from lucius.lifebook.worker.worker import Worker
from lucius.telemetry.lifebook import RunWatch, lifebook_gauges
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.traces import NoTraces
from tests.lifebook.world import OPENING, World, opened


class Watched:
    """A world seen through the wrapper."""

    def __init__(self, world: World, metrics: Metrics) -> None:
        self.world = world
        self.metrics = metrics
        watch, clock = RunWatch(metrics.runs, NoTraces()), world.time.clock
        metrics.gauges("lifebook", lifebook_gauges(world.store, world.queue, world.dead, clock=clock))
        store = ObservedRuns(world.store, watch)
        self.queue = ObservedQueue(world.queue, watch, clock=clock)
        changes = Changes(store, policy=world.policy, clock=clock, watch=watch)
        self.create = Create(
            store, self.queue, changes, world.registry,
            policy=world.policy, clock=clock, new_id=world.new_id, opening=OPENING,
        )  # fmt: skip
        self.control = Control(changes, self.create)
        self.sweeper = Sweeper(store, changes, self.create, clock=clock)
        self.worker = Worker(
            store, self.queue, changes, world.registry,
            owner="worker", policy=world.policy, clock=clock, sleep=world.time.sleep,
            new_id=world.new_id, spread=lambda: 0.5, watch=watch,
        )  # fmt: skip

    async def created(self, name: str = "flow", **more: Any) -> Run:
        """A run, with its message in the queue unless the queue is away."""
        request = RunRequest(workspace_id="acme", user_id="ada", workflow_id=name, **more)
        return (await self.create.create(request)).run

    async def once(self) -> bool:
        """Deal with the next message as the poller does; False: there is none."""
        found = await self.queue.receive(1, wait_seconds=0, hidden_seconds=65)
        for delivery in found:
            if await self.worker.handle(delivery):
                await self.queue.delete(delivery)
        return bool(found)

    async def counted(self) -> dict[str, float]:
        """Every number of lifebook runs a scrape sees, by name and labels."""
        text = (await self.metrics.exposition())[0].decode()
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("lucius_lifebook_")]
        short = {
            name.removeprefix("lucius_lifebook_").replace('"', ""): float(value) for name, value in lines
        }
        return {
            name: value
            for name, value in short.items()
            if "_bucket" not in name and not name.endswith("_created")
        }


@asynccontextmanager
async def watched(*, tenants: int = 0) -> AsyncIterator[Watched]:
    """A watched world."""
    async with opened() as world:
        yield Watched(world, Metrics(clock=world.time.clock, version="test", tenants=tenants))
