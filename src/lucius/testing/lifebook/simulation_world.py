"""Processes of a lifebook in virtual time: the real worker, use cases and duties on one file in memory.

A `Life` is one process: everything in it belongs to its number, so that it can be killed between any two
callbacks. The file and the queues are the world outside; every transaction is watched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from itertools import count
from typing import Any
from uuid import UUID

import apsw

from lucius.errors import LuciusError, Unavailable
from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteQueue, SqliteRuns
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.duties.dead_letters import DeadLetters
from lucius.lifebook.duties.forgetting import Forgetting
from lucius.lifebook.duties.sweeper import Sweeper
from lucius.lifebook.duties.telling import Telling
from lucius.lifebook.ports.queue import Delivery
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.control import Control
from lucius.lifebook.usecases.create import Create
from lucius.lifebook.worker.stepping import plenty
from lucius.lifebook.worker.worker import Worker
from lucius.lifebook.workflows import Registry
from lucius.ports.duties import Report
from lucius.testing.lifebook.simulation_lines import Fates, Line, Post
from lucius.testing.lifebook.simulation_loop import SteppingLoop
from lucius.testing.lifebook.simulation_watch import HANDLING, Handling, Watch
from lucius.testing.simulation.loop import OWNER, nap


class WatchedFile(LifebookFile):
    """The file; whoever watches sees every transaction."""

    look: Callable[[apsw.Connection], None]

    def _run(self, *given: Any, **named: Any) -> None:
        super()._run(*given, **named)
        self.look(self._connection)

    def drop(self) -> None:
        """Forget everything."""
        self._thread.shutdown()
        self._connection.close()


class Listener:
    """Analytics."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def tell(self, event: RunEvent) -> None:
        """Take an event."""
        self._watch.told_of(event)

    async def close(self) -> None:
        """Nothing is open."""


class World:
    """Everything that is not a process."""

    def __init__(self, registry: Registry, policy: Policy, fates: Fates, *, opening: int) -> None:
        self.loop = SteppingLoop()  # type: ignore[abstract]
        self.watch = Watch(policy)
        self.registry = registry
        self.policy = policy
        self.fates = fates
        self.opening = opening
        self._ids = count(1)
        self._lives = count(1)
        self._handlings = count(1)
        self.file = WatchedFile(":memory:", clock=self.loop.clock)
        self.file.look = self.watch.look
        self.store = SqliteRuns(self.file)
        named: dict[str, Any] = {"sleep": nap, "new_id": self.new_id}
        self.work = SqliteQueue(self.file, "work", dead="dead", **named)
        self.dead = SqliteQueue(self.file, "dead", dead=None, **named)
        self.post = Post(self.work, fates, self.watch.lost.add)

    def new_id(self) -> str:
        """The next id."""
        return str(UUID(int=next(self._ids), version=4))

    def handling(self) -> Handling:
        """A delivery begins to be handled."""
        return Handling(next(self._handlings))

    def life(self) -> Life:
        """A process starts."""
        return Life(self, next(self._lives))


class Life:
    """One process."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.over = False
        self.context = copy_context()
        self.context.run(OWNER.set, number)
        loop, policy, watch = world.loop, world.policy, world.watch
        ports = {"store": world.store, "work": world.post, "dead": world.dead, "analytics": Listener(watch)}
        self.lines = {name: Line(port, name, loop, world.fates) for name, port in ports.items()}
        self.lines["store"].about = watch.about
        store: Any = self.lines["store"]
        queue: Any = self.lines["work"]
        dead: Any = self.lines["dead"]
        analytics: Any = self.lines["analytics"]
        self.queue = queue
        changes = Changes(store, policy=policy, clock=loop.clock)
        self.create = Create(
            store, queue, changes, world.registry,
            policy=policy, clock=loop.clock, new_id=world.new_id, opening=world.opening,
        )  # fmt: skip
        self.control = Control(changes, self.create)
        self.letters = DeadLetters(dead, store, changes, self.control, interval=3.0)
        self.sweeper = Sweeper(store, changes, self.create, clock=loop.clock, interval=2.0, batch=3)
        self.telling = Telling(store, analytics, clock=loop.clock, interval=2.0, batch=3)
        self.forgetting = Forgetting(store, clock=loop.clock, interval=20.0, batch=3)
        self.worker = Worker(
            store, queue, changes, world.registry,
            owner=f"life-{number}", policy=policy, clock=loop.clock, sleep=nap,
            new_id=self._token, spread=lambda: 0.0,
        )  # fmt: skip

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin something; only an error that is not ours to raise is a finding."""
        task = self.world.loop.create_task(work, context=self.context.copy())
        task.add_done_callback(self._ended)

    async def ask(self, call: Awaitable[Any], *, seconds: float) -> Any:
        """As over HTTP: what this process answers; raises `Unavailable` when nothing comes in time."""
        answered: asyncio.Future[Any] = self.world.loop.create_future()
        self.start(_serve(call, answered))
        try:
            async with asyncio.timeout(seconds):
                return await answered
        except TimeoutError:
            raise Unavailable("no answer") from None

    async def keep(self, duty: Any) -> None:
        """A duty, again and again."""
        while True:
            report: Report | None = None
            with suppress(LuciusError):
                report = await duty.run_once()
            if report is None or not report.more:
                await nap(self.world.fates.rest(duty.interval))

    async def handle(self, delivery: Delivery, hurry: float | None = None) -> bool:
        """As the worker does, watched; `hurry`: seconds until this process is ended."""
        HANDLING.set(self.world.handling())
        end = None if hurry is None else self.world.loop.time() + hurry
        left = plenty if end is None else lambda: end - self.world.loop.time()
        try:
            return await self.worker.handle(delivery, time_left=left)
        finally:
            HANDLING.set(None)

    async def one(self, delivery: Delivery) -> None:
        """Deal with one message as the poller does."""
        try:
            if await self.handle(delivery):
                await self.queue.delete(delivery)
        except Unavailable:
            return

    def kill(self) -> None:
        """End at once, like a kill -9."""
        self.over = True
        for line in self.lines.values():
            line.down = True
        self.world.loop.kill(self.number)

    def _token(self) -> str:
        token, handling = self.world.new_id(), HANDLING.get()
        if handling is not None:
            handling.tokens.add(token)
        return token

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.world.watch.broken.append(f"W0 a part of process {self.number} ended with {error!r}")


async def _serve(call: Awaitable[Any], answered: asyncio.Future[Any]) -> None:
    try:
        answer = await call
    except LuciusError as error:
        if not answered.done():
            answered.set_exception(error)
    else:
        if not answered.done():
            answered.set_result(answer)
