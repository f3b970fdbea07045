"""One Lucius from start to kill: the real parts, put together as the runtime does."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from lucius.core.decide import Chance
from lucius.dispatch.intake import Intake
from lucius.dispatch.recovery import recover
from lucius.dispatch.relay import Relay
from lucius.engines.outbox.due import DueJobs
from lucius.engines.outbox.engine import OutboxEngine
from lucius.errors import Broken, LuciusError
from lucius.testing.jobs import START, render
from lucius.testing.simulation.flaky import FlakyBus
from lucius.testing.simulation.loop import OWNER, VirtualLoop, nap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from lucius.core.commands import Command
    from lucius.core.job import Job
    from lucius.ports.ledger import Change
    from lucius.testing.simulation.disk import Disk
    from lucius.testing.simulation.plan import Plan
    from lucius.testing.simulation.watch import Watch

T = TypeVar("T")

SWEEP = 1.0


class GoneError(Exception):
    """The process died, or the answer was lost: the caller cannot know what became of its request."""


class WatchedEngine(OutboxEngine):
    """The engine; a decision that breaks the table is a broken promise, whoever catches it."""

    broken: list[str]

    def _decided(self, job: Job, command: Command) -> Change:
        try:
            return super()._decided(job, command)
        except Broken as error:
            self.broken.append(f"S2 {error.message}")
            raise


class Life:
    """A running Lucius."""

    def __init__(self, number: int, loop: VirtualLoop, disk: Disk, plan: Plan, watch: Watch) -> None:
        self.number = number
        self._loop = loop
        self._disk = disk
        self._plan = plan
        self._watch = watch
        self._leases = 0
        self._calls: set[asyncio.Future[Any]] = set()
        self._dead = False
        self.failed = False
        """The ledger could not be written: the process is about to end."""
        self.context = copy_context()
        self.context.run(OWNER.set, number)
        self.context.run(self._build)
        self._start(self._main())

    def clock(self) -> int:
        """Milliseconds since the epoch."""
        return START + int(self._loop.time() * 1000)

    def _build(self) -> None:
        self.ledger = self._disk.open(self._plan, self.clock, self._ledger_failed)
        self._watch.follow(self.ledger)
        self.bus = FlakyBus(self._plan, self._watch, self._loop, self.clock)
        relay = Relay(self.ledger, self.bus)
        self.engine = WatchedEngine(
            self.ledger, relay, render=render, tell=lambda *_: (), clock=self.clock, chance=self._chance
        )
        self.engine.broken = self._watch.broken
        self._relay = relay
        self._due = DueJobs(self.ledger, self.bus, self.engine, clock=self.clock, page=2)

    async def _main(self) -> None:
        self._start(self._relay.run(self.engine.note))
        for _ in range(2):
            self._start(Intake(self.bus, self.engine.report, sleep=nap).run())
        await recover(self.ledger, self._relay, page=2)
        while True:
            if not (await self._due.run_once()).more:
                await nap(SWEEP)

    async def call(self, ask: Callable[[OutboxEngine], Awaitable[T]]) -> T:
        """Ask as over HTTP; raises `GoneError` when no answer comes."""
        if self._dead:
            raise GoneError
        future: asyncio.Future[Any] = self._loop.create_future()
        self._calls.add(future)
        self._start(self._serve(ask, future))
        try:
            answer: T = await future
        finally:
            self._calls.discard(future)
        if self._plan.chance(self._plan.message_faults / 4):
            raise GoneError
        return answer

    def kill(self) -> None:
        """End at once, like a kill -9."""
        self._dead = True
        self._loop.kill(self.number)
        self.bus.die()
        self._disk.let_go(self.ledger, self._plan)
        for future in self._calls:
            if not future.done():
                future.set_exception(GoneError())

    async def _serve(self, ask: Callable[[OutboxEngine], Awaitable[T]], future: asyncio.Future[T]) -> None:
        try:
            answer = await ask(self.engine)
        except LuciusError as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(answer)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work, context=self.context)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.failed:
            self._watch.broken.append(f"L1 a part of Lucius ended with {error!r}")

    def _ledger_failed(self, _: BaseException) -> None:
        self.failed = True

    def _chance(self) -> Chance:
        self._leases += 1
        return Chance(lease_id=f"lease-{self.number}-{self._leases}", spread=self._plan.random.random())
