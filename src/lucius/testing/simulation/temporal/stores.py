"""Ledger and bus as services of their own: they outlive every process that uses them.

A process hears of its own commits only. A change may be refused before it is made, or its answer lost
after it; both are `Unavailable` to the process. What a dead process had asked for happens all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lucius.errors import Unavailable
from lucius.ports.bus import BusCapabilities
from lucius.ports.ledger import LedgerCapabilities
from lucius.testing.simulation.flaky import FlakyBus
from lucius.testing.simulation.loop import nap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from lucius.adapters.ledgers.sqlite import SqliteLedger
    from lucius.core.events import Event
    from lucius.core.job import Job
    from lucius.ports.bus import Message
    from lucius.ports.ledger import (
        Census,
        Change,
        Claim,
        DeadLetter,
        JobQuery,
        Judge,
        Listener,
        Opened,
        Opener,
        OutboxRow,
        Usage,
    )
    from lucius.testing.simulation.temporal.schedule import World

T = TypeVar("T")


class Broker(FlakyBus):
    """The flaky bus as a broker: it keeps what it was given, whoever dies."""

    def __init__(self, world: World) -> None:
        super().__init__(world.plan, world.watch, world.loop, world.clock)
        self._world = world

    @property
    def capabilities(self) -> BusCapabilities:
        """Durable."""
        return BusCapabilities(volatile=False, withdraws=True, knows_unread=True, max_batch=64)

    def _watch(self) -> None:
        self._world.outside(super()._watch)

    def _keeps(self, message: Message) -> bool:
        return self._world.outside(super()._keeps, message)


class OneHand:
    """The ledger in the hands of one process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._plan = world.plan
        self._base: SqliteLedger = world.ledger
        self._mine: dict[int, Change] = {}
        self._listeners: list[Listener] = []
        self.dead = False
        self._base.on_commit(self._committed)

    @property
    def capabilities(self) -> LedgerCapabilities:
        """Durable, and open to several processes."""
        return LedgerCapabilities(durable=True, shared=True)

    def on_commit(self, listener: Listener) -> None:
        """Hear of what this process has committed."""
        self._listeners.append(listener)

    async def create(self, claim: Claim, opener: Opener) -> Opened:
        """As the ledger."""

        def opens(usage: Usage) -> Change:
            return self._keep(opener(usage))

        return await self._written(lambda: self._base.create(claim, opens))

    async def change(self, job_id: str, judge: Judge, *, patient: bool = False) -> Change | None:
        """As the ledger."""

        def judges(job: Job, usage: Usage) -> Change:
            return self._keep(judge(job, usage))

        return await self._written(lambda: self._base.change(job_id, judges, patient=patient))

    async def job(self, job_id: str) -> Job | None:
        """As the ledger."""
        await nap(self._plan.latency())
        return await self._base.job(job_id)

    async def jobs(self, query: JobQuery) -> list[Job]:
        """As the ledger."""
        return await self._base.jobs(query)

    async def events(self, job_id: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """As the ledger."""
        return await self._base.events(job_id, after=after, limit=limit)

    async def outbox(self, job_ids: Sequence[str]) -> list[OutboxRow]:
        """As the ledger."""
        return await self._base.outbox(job_ids)

    async def open_attempts(self, *, after: str = "", limit: int = 500) -> list[str]:
        """As the ledger."""
        return await self._base.open_attempts(after=after, limit=limit)

    async def due(self, now: int, limit: int) -> list[str]:
        """As the ledger."""
        return await self._base.due(now, limit)

    async def dead_letters(self, query: JobQuery) -> list[DeadLetter]:
        """As the ledger."""
        return await self._base.dead_letters(query)

    async def census(self, now: int, tenants: frozenset[str] | None = None) -> Census:
        """As the ledger."""
        return await self._base.census(now, tenants)

    async def purge(self, before: int, limit: int) -> int:
        """As the ledger."""
        return await self._base.purge(before, limit)

    async def _written(self, write: Callable[[], Awaitable[T]]) -> T:
        plan = self._plan
        await nap(plan.latency())
        if plan.chance(plan.store_faults):
            raise Unavailable("the ledger is away", code="LEDGER_AWAY")
        answer = await self._world.outside(write)
        if plan.chance(plan.store_faults):
            raise Unavailable("the ledger's answer was lost", code="LEDGER_AWAY")
        return answer

    def _keep(self, change: Change) -> Change:
        self._mine[id(change)] = change
        return change

    def _committed(self, changes: Sequence[Change]) -> None:
        mine = [change for change in changes if self._mine.pop(id(change), None) is not None]
        if mine and not self.dead:
            for listener in self._listeners:
                listener(mine)
