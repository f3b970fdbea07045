"""The dual run: one program of commands, faults and replies, played to both engines, action by action.

A program is a seed. What an action is about is drawn from the seed and from how the outbox world stands, in
terms of job number, step and attempt; then both worlds are given it, both come to rest, and both ledgers must
tell the same story (`dual_compare.py` says what the same is). The hand of both clocks moves only between two
actions, so times are compared too. At the end everything is served until each job is over or paused.

How it fails: `DiffersError`, with the seed, the actions so far, and the first differences.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from temporalio.client import Client

from lucius.core import commands as cmd
from lucius.core.events import AttemptCreated
from lucius.core.job import Job, Order
from lucius.core.states import IN_FLIGHT_STEP, JobState
from lucius.core.timing import due_at
from lucius.testing.engine_harness import NO_LIMITS
from lucius.testing.engines import EngineHarness
from tests.engines.dual_compare import differences, endings, story
from tests.engines.dual_orders import TENANTS, described, draw_order
from tests.engines.dual_service import draw_saying, poll, serve
from tests.engines.dual_world import DualTemporalWorld
from tests.engines.outbox_world import OutboxWorld

TIMES = (0, 1_000, 2_000, 31_000, 61_000, 300_000, 900_001)
CONTROLS = (cmd.Pause(), cmd.Pause(), cmd.Resume(), cmd.Resume(), cmd.Cancel(), cmd.Cancel(force=True))
MOST_JOBS = 6
TURNS = 150
"""Of serving at the end: a job takes two or three a step and attempt."""


class DiffersError(AssertionError):
    """The two engines do not agree."""


class DualRun:
    """One program on both worlds."""

    def __init__(self, seed: int, directory: Path, client: Client) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.client = client
        self.outbox = OutboxWorld(directory / f"outbox-{seed}.db")
        self.temporal = DualTemporalWorld(directory / f"temporal-{seed}.db", client)
        self.worlds: tuple[EngineHarness, ...] = (self.outbox, self.temporal)
        self.orders: list[Order] = []
        self.unborn: set[str] = set()
        """Jobs without a workflow: over when accepted, or their start was lost, which is made good."""
        self.unheard = False
        """Whether Temporal missed a command: only then has the drift check something to find at the end."""
        self.deeds: list[str] = []
        self.grouped = self.random.random() < 0.5
        """Programs with parallel steps pass time with more care: see `dual_compare`."""

    async def play(self, actions: int) -> None:
        """The whole program, and the comparison of everything."""
        await self.outbox.start()
        await self.temporal.start()
        try:
            for _ in range(actions):
                await self._act()
                await self._compare()
            await self._serve()
            await self._compare_endings()
        finally:
            await self.outbox.stop()
            await self.temporal.stop()

    # -- acting -------------------------------------------------------------------------------

    async def _act(self) -> None:
        kinds: dict[Callable[[], Awaitable[None]], int] = {
            self._open: 5 if len(self.orders) < MOST_JOBS else 0,
            self._reply: 9,
            self._poll: 5,
            self._pass_time: 5,
            self._control: 4,
            self._outage: 2,
            self._restart: 1,
        }
        (action,) = self.random.choices(list(kinds), list(kinds.values()))
        await (action if self.orders else self._open)()

    async def _both(self, deed: str, do: Callable[[EngineHarness], Awaitable[object]]) -> None:
        """The same to both, until both rest with all done that is due; they must answer the same."""
        self.deeds.append(deed)
        said = []
        for world in self.worlds:
            said.append(await do(world))
            await world.sweep()
        if said[0] != said[1]:
            raise self._differs([f"the answer: outbox {said[0]}, temporal {said[1]}"])

    async def _open(self) -> None:
        if self.orders and self.random.random() < 0.1:
            known = self.random.choice(self.orders)
            await self._both(f"open {self._number(known)} again", lambda world: _opened(world, known))
            return
        of = draw_order(self.random, len(self.orders), self.outbox.clock(), grouped=self.grouped)
        later = of.not_before is not None and of.not_before > of.accepted_at
        loses = later and self.random.random() < 0.5
        self.orders.append(of)
        deed = f"open {self._number(of)}: {described(of)}{', start lost' if loses else ''}"
        await self._both(deed, lambda world: _opened(world, of, loses=loses))
        if loses or (await self._job(of)).terminal:
            self.unborn.add(of.job_id)

    async def _reply(self) -> None:
        of = self.random.choice(self.orders)
        made = [e for e in await self.outbox.ledger.events(of.job_id) if isinstance(e, AttemptCreated)]
        if made:
            saying = draw_saying(self.random, of, made)
            await self._both(f"job {self._number(of)}: {saying}", saying.say)

    async def _poll(self) -> None:
        """Services of one tenant, or of all, read their queues empty."""
        tenants = self.random.choice((None, *(frozenset({tenant}) for tenant in TENANTS)))
        await self._both(f"poll {sorted(tenants or TENANTS)}", lambda world: poll(world, tenants))

    async def _pass_time(self) -> None:
        if self.outbox.bus.away and self.grouped:
            return
        wait = self.random.choice(TIMES)
        if self.random.random() < 0.6:
            wait = await self._until_due(otherwise=wait)
        while self.grouped and wait > (first := await self._until_due(otherwise=wait)):
            await self._after(first)
            wait -= first
        await self._after(wait)

    async def _until_due(self, *, otherwise: int) -> int:
        jobs = [await self._job(of) for of in self.orders]
        due = [at for job in jobs if (at := due_at(job)) is not None]
        return max(0, min(due) - self.outbox.clock()) if due else otherwise

    async def _after(self, milliseconds: int) -> None:
        async def after(world: EngineHarness) -> None:
            world.clock.advance(milliseconds)

        await self._both(f"after {milliseconds} ms", after)

    async def _control(self) -> None:
        of, command = self.random.choice(self.orders), self.random.choice(CONTROLS)
        unborn = of.job_id in self.unborn and not (await self._job(of)).attempts_total
        if unborn and not isinstance(command, cmd.Cancel):
            return  # what is resumed without a workflow is started a moment later: no difference that counts
        # Not a resume: its drift is found when the next step is late, and that is a moment later.
        deaf = not isinstance(command, cmd.Resume) and self.random.random() < 0.2
        await self._controlled(of, command, deaf=deaf)

    async def _controlled(self, of: Order, command: cmd.Command, *, deaf: bool = False) -> None:
        async def control(world: EngineHarness) -> object:
            if deaf and isinstance(world, DualTemporalWorld):
                self.unheard = True
                with world.hearing_nothing():
                    answer = await world.engine.control(of.job_id, command, NO_LIMITS)
            else:
                answer = await world.engine.control(of.job_id, command, NO_LIMITS)
            return answer.verdict, answer.refusal

        await self._both(
            f"job {self._number(of)}: {command}{', unheard by Temporal' if deaf else ''}", control
        )

    async def _outage(self) -> None:
        if self.outbox.bus.away:
            await self._back()
            return
        for world in self.worlds:
            world.bus.away = True
        self.deeds.append("the bus goes away")

    async def _back(self) -> None:
        await self._both("the bus is back", lambda world: world.bus_back())

    async def _restart(self) -> None:
        await self._both("restart", lambda world: world.restart())

    async def _serve(self) -> None:
        """From here on everybody does their work; some of what is paused stays so."""
        await self._back()
        for of in self.orders:
            paused = (await self._job(of)).state in (JobState.PAUSED, JobState.PAUSING)
            if paused and self.random.random() < 0.7:
                await self._controlled(of, cmd.Resume())
        for _ in range(TURNS):
            jobs = [await self._job(of) for of in self.orders]
            if all(job.terminal or job.state is JobState.PAUSED for job in jobs):
                return
            if any(step.state in IN_FLIGHT_STEP for job in jobs for step in job.steps):
                await self._both("serve all that is in flight", lambda world: serve(world, self.orders))
            else:
                await self._after(await self._until_due(otherwise=0))
            await self._compare()
        raise self._differs([f"not over after {TURNS} turns"])

    # -- comparing ----------------------------------------------------------------------------

    async def _compare(self) -> None:
        for number, of in enumerate(self.orders):
            job = await self.temporal.ledger.job(of.job_id)
            if job is not None and self.temporal.held_up(job):
                continue
            one, other = [await story(world, of.job_id) for world in self.worlds]
            if found := [*differences(one, other), *await self.temporal.strangers(of.job_id)]:
                raise self._differs([f"job {number}{difference}" for difference in found[:12]])

    async def _compare_endings(self) -> None:
        jobs = [await self._job(of) for of in self.orders]
        tidying = asyncio.create_task(self.temporal.tidy()) if self.unheard else None
        try:
            wrong = await endings(self.client, jobs, self.unborn)
        finally:
            if tidying is not None:
                tidying.cancel()
        if wrong:
            raise self._differs(wrong)

    def _differs(self, found: list[str]) -> DiffersError:
        head = f"seed {self.seed}, after {len(self.deeds)} deeds:"
        return DiffersError("\n  ".join([head, *self.deeds, "", *found]))

    def _number(self, of: Order) -> int:
        return self.orders.index(of)

    async def _job(self, of: Order) -> Job:
        found = await self.outbox.ledger.job(of.job_id)
        assert found is not None
        return found


async def _opened(world: EngineHarness, of: Order, *, loses: bool = False) -> object:
    if loses and isinstance(world, DualTemporalWorld):
        with world.losing_starts():
            opened = await world.open(of, explicit=True)
    else:
        opened = await world.open(of, explicit=True)
    return opened.duplicate, opened.job.job_id
