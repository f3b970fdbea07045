"""A lifebook in virtual time: the real use cases, worker and duties on SQLite in memory.

Time passes only by `advance`. Store and queue can be made to fail from outside, to see what that costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any
from uuid import UUID

from lucius.errors import Unavailable
from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteQueue, SqliteRuns
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Run
from lucius.lifebook.duties.dead_letters import DeadLetters
from lucius.lifebook.duties.sweeper import Sweeper
from lucius.lifebook.ports.queue import Delivery
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.control import Control
from lucius.lifebook.usecases.create import Create, RunRequest
from lucius.lifebook.usecases.look import Look
from lucius.lifebook.worker.worker import Worker
from lucius.lifebook.workflows import Registry, Step, Workflow

NOW = 1_769_508_120_000
OPENING = 20_000


class VirtualTime:
    """A clock that stands still, and sleepers that wait for it."""

    def __init__(self) -> None:
        self.now = NOW
        self._sleepers: list[tuple[int, asyncio.Future[None]]] = []

    def clock(self) -> int:
        """Milliseconds since the epoch."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Until the clock was advanced so far."""
        if seconds <= 0:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + round(seconds * 1000), future))
        await future

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += round(seconds * 1000)
        due = [future for at, future in self._sleepers if at <= self.now]
        self._sleepers = [(at, future) for at, future in self._sleepers if at > self.now]
        for future in due:
            if not future.done():
                future.set_result(None)


class Cut:
    """A port that is away while `away` says so, for the named methods or for all of them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.away: Callable[[str], bool] = lambda _name: False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        async def call(*given: Any, **named: Any) -> Any:
            if self.away(name):
                raise Unavailable(f"{name} is cut off")
            return await found(*given, **named)

        return call


class World:
    """One workspace's worth of everything."""

    def __init__(self, file: LifebookFile, time: VirtualTime, policy: Policy) -> None:
        self.time = time
        self.policy = policy
        self.registry = Registry()
        self._ids = count(1)
        self.store = Cut(SqliteRuns(file))
        sleep, new_id = time.sleep, self.new_id
        self.queue = Cut(SqliteQueue(file, "work", dead="dead", sleep=sleep, new_id=new_id))
        self.dead = Cut(SqliteQueue(file, "dead", dead=None, sleep=sleep, new_id=new_id))
        self.changes = Changes(self.store, policy=policy, clock=time.clock)
        self.create = Create(
            self.store, self.queue, self.changes, self.registry,
            policy=policy, clock=time.clock, new_id=self.new_id, opening=OPENING,
        )  # fmt: skip
        self.control = Control(self.changes, self.create)
        self.look = Look(self.store)
        self.letters = DeadLetters(self.dead, self.store, self.changes, self.control)
        self.sweeper = Sweeper(self.store, self.changes, self.create, clock=time.clock)

    def new_id(self) -> str:
        """The next id."""
        return str(UUID(int=next(self._ids), version=4))

    def worker(self, owner: str = "worker", *, store: Any = None, registry: Registry | None = None) -> Worker:
        """A worker of its own, on the same store unless told otherwise."""
        changes = self.changes if store is None else Changes(store, policy=self.policy, clock=self.time.clock)
        return Worker(
            store or self.store, self.queue, changes, registry or self.registry,
            owner=owner, policy=self.policy, clock=self.time.clock, sleep=self.time.sleep,
            new_id=self.new_id, spread=lambda: 0.5,
        )  # fmt: skip

    def workflow(self, *steps: Any, name: str = "flow", price: int = 100, **more: Any) -> None:
        """Register a workflow of these functions."""
        made = tuple(Step(f"step-{at + 1}", run, credits=price) for at, run in enumerate(steps))
        self.registry.register(Workflow(name, made, **more))

    async def created(self, name: str = "flow", **more: Any) -> Run:
        """A run, with its message in the queue unless the queue is away."""
        request = RunRequest(workspace_id="acme", user_id="ada", workflow_id=name, **more)
        return (await self.create.create(request)).run

    async def run(self, job_id: str) -> Run:
        """As it is now."""
        return await self.look.run(job_id)

    async def receive(self) -> Delivery | None:
        """The next message."""
        found: Sequence[Delivery] = await self.queue.receive(1, wait_seconds=0, hidden_seconds=65)
        return found[0] if found else None

    async def message(self) -> Delivery:
        """The next message; there must be one."""
        found = await self.receive()
        assert found is not None, "the queue shows no message"
        return found

    async def once(self, worker: Worker | None = None) -> bool:
        """Deal with the next message as the poller does; False: there is none."""
        found = await self.receive()
        if found is None:
            return False
        if await (worker or self.worker()).handle(found):
            await self.queue.delete(found)
        return True

    async def until_quiet(self, worker: Worker | None = None, rounds: int = 50) -> None:
        """Deal with messages until none is to be seen."""
        for _ in range(rounds):
            if not await self.once(worker):
                return
        raise AssertionError(f"still busy after {rounds} messages")

    async def balanced(self) -> None:
        """Money is conserved, and nothing is held for runs that have ended."""
        wallet = await self.look.wallet("acme")
        assert wallet.available + wallet.reserved + wallet.spent == wallet.deposited == OPENING
        page = await self.look.runs("acme", limit=200)
        runs = [await self.run(summary.job_id) for summary in page.runs]
        assert wallet.reserved == sum(run.credits_reserved for run in runs)
        assert wallet.spent == sum(run.credits_spent for run in runs if run.terminal)

    async def events(self) -> list[tuple[str, str]]:
        """Name and run of every event that waits to be told."""
        return [(event.name, event.job_id) for event in await self.store.untold(1000)]


@asynccontextmanager
async def opened(policy: Policy | None = None) -> AsyncIterator[World]:
    """A world; its file dies with it."""
    time = VirtualTime()
    file = LifebookFile(":memory:", clock=time.clock)
    try:
        yield World(file, time, policy or Policy())
    finally:
        await file.close()
