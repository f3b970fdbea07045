"""The engine port for the orchestrator: it creates, starts, and hands everything else to the invoker.

A job is accepted when its rows are durable. Its workflow is started right after, before the answer if
Temporal is quick; while Temporal is away jobs are accepted all the same, and started when it is back.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lucius.core.decide import Chance, open_job
from lucius.dispatch.changes import Changes, require_slot
from lucius.engines.temporal.ownership import CreateOnly
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.core import commands as cmd
    from lucius.core.admission import Limits
    from lucius.core.job import Job, Order
    from lucius.dispatch.changes import Tell
    from lucius.engines.temporal.talking import Starts
    from lucius.errors import LuciusError
    from lucius.ports.engine import Answer, Driver
    from lucius.ports.invoker import Invoker
    from lucius.ports.ledger import Change, Claim, Ledger, Opened, OutboxRow, Usage

#: The workflow draws the lease of every attempt, the first one too.
_NO_LEASE = Chance(lease_id="")
AWAY = 3.0
"""Seconds for which nobody waits for a Temporal that has just not answered."""


class TemporalEngine:
    """Drives jobs through workflows."""

    driver: Driver = "workflow"

    def __init__(
        self,
        ledger: Ledger,
        starts: Starts,
        invoker: Invoker,
        *,
        tell: Tell,
        waiting: Callable[[], dict[str, int] | None] = lambda: None,
        patience: float = 2.0,
    ) -> None:
        """`patience`: seconds an answer waits for Temporal; `waiting`: what the relay holds, if here."""
        self._ledger = CreateOnly(ledger)
        self._starts = starts
        self._invoker = invoker
        self._change = Changes(_renders_nothing, tell)
        self._waiting = waiting
        self._patience = patience
        self._away_until = 0.0

    def open(self, order: Order, claim: Claim, limits: Limits) -> Awaitable[Opened]:
        """Accept an order, or find the job that has its key."""

        def opener(usage: Usage) -> Change:
            require_slot(limits, usage, order.routing.mode)
            return self._change(None, open_job(order, _NO_LEASE))

        return self._started(self._ledger.create(claim, opener))

    def replay(self, claim: Claim, refusal: LuciusError) -> Awaitable[Opened]:
        """Find the job that has the key."""

        def opener(_: Usage) -> Change:
            raise refusal

        return self._ledger.create(claim, opener)

    def report(self, tenant_id: str, job_id: str, reply: cmd.Reply) -> Awaitable[Answer]:
        """Replies are the invoker's to judge."""
        return self._invoker.report(tenant_id, job_id, reply)

    def control(self, job_id: str, command: cmd.Command, limits: Limits) -> Awaitable[Answer]:
        """So are the commands of people."""
        return self._invoker.control(job_id, command, limits)

    async def republish(self, job_ids: list[str]) -> int:
        """And so is the bus."""
        return await self._invoker.republish(job_ids)

    def waiting(self) -> dict[str, int] | None:
        """Directives that wait for the bus, by tenant; only known where the invoker is this process."""
        return self._waiting()

    async def _started(self, creating: Awaitable[Opened]) -> Opened:
        opened = await creating
        if not opened.job.terminal:  # a retry of a job that had nothing left to do is over already
            await self._start(opened.job)
        return opened

    async def _start(self, job: Job) -> None:
        """Start it now if Temporal answers; else the duty that looks for lost starts does."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._away_until:
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._starts.start(job)
        except (TimeoutError, Unavailable):  # not every client should wait for what is not there
            self._away_until = loop.time() + AWAY


def _renders_nothing(job: Job, index: int) -> OutboxRow:
    message = f"step {index} of {job.job_id} was started by the orchestrator"
    raise AssertionError(message)
