"""Orchestrator, invoker and worker, put together as the runtime does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lucius.core.decide import Verdict
from lucius.dispatch.backlog import Backlog
from lucius.dispatch.intake import REPLIES, Intake
from lucius.dispatch.relay import Relay
from lucius.engines.temporal.activities import InvokerActivities
from lucius.engines.temporal.desk import InvokerDesk
from lucius.engines.temporal.drift import Overdue
from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.lateness import Lateness
from lucius.engines.temporal.left_open import LeftOpen
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.engines.temporal.signalling import WorkflowSignals
from lucius.engines.temporal.starting import WorkflowStarts
from lucius.errors import Unavailable
from lucius.testing.jobs import render
from lucius.testing.simulation.loop import nap
from lucius.testing.simulation.temporal.client import Client
from lucius.testing.simulation.temporal.process import FarInvoker, Process
from lucius.testing.simulation.temporal.stores import OneHand

if TYPE_CHECKING:
    from temporalio.client import Client as RealClient

    from lucius.core.commands import Reply
    from lucius.ports.engine import Answer
    from lucius.testing.simulation.temporal.instance import Instance
    from lucius.testing.simulation.temporal.schedule import World

GRACE = 3_000
"""Milliseconds that replies may take to come in: services here try again within one."""


class Orchestrator(Process):
    """Creates jobs, starts workflows, hands everything else on."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, number)
        self.context.copy().run(self._build)

    def _build(self) -> None:
        world = self._world
        self.ledger = OneHand(world)
        starts = WorkflowStarts(
            cast("RealClient", Client(world)),
            task_queue="simulated",
            execution_timeout=world.plan.execution_timeout,
            search_attributes=world.plan.attributes,
        )
        self.engine = TemporalEngine(self.ledger, starts, FarInvoker(world), tell=lambda *_: ())
        self.spawn(self.rounds(LostStarts(self.ledger, starts, clock=world.clock, page=2)))

    def kill(self) -> None:
        """End at once."""
        self.ledger.dead = True
        super().kill()


class InvokerProcess(Process):
    """Judges, commits, publishes, tells, and compares."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, number)
        self.context.copy().run(self._build)

    def _build(self) -> None:
        world, clock = self._world, self._world.clock
        self.ledger = ledger = OneHand(world)
        client = cast("RealClient", Client(world))
        relay = Relay(ledger, world.bus)
        signals = WorkflowSignals(client)
        lateness = Lateness(world.bus, REPLIES.name, clock=clock, grace=GRACE)
        self.desk = InvokerDesk(
            ledger, relay, Backlog(ledger, world.bus, clock=clock), signals, lateness, render=render,
            tell=lambda *_: (), clock=clock, spread=world.plan.random.random,
        )  # fmt: skip
        self.spawn(relay.run(self.desk.note))
        self.spawn(Intake(world.bus, self.report, sleep=nap, hindered=lateness.hindered).run())
        closing = self.desk.closing
        self.spawn(self.rounds(Overdue(ledger, signals, closing, clock=clock)))
        self.spawn(self.rounds(LeftOpen(client, ledger, signals, closing, clock=clock)))

    def kill(self) -> None:
        """End at once."""
        self.ledger.dead = True
        super().kill()

    async def report(self, tenant_id: str, job_id: str, reply: Reply) -> Answer:
        """As the desk, watched: when it answers, the reply is about to be settled."""
        driven = self._world.server.driven(job_id)
        try:
            answer = await self.desk.report(tenant_id, job_id, reply)
        except Unavailable:
            if self._world.plan.plain:
                self._world.watch.note(f"E5 {job_id}: a reply cannot be settled although all is up")
            raise
        counted = answer.verdict in (Verdict.ACCEPTED, Verdict.DUPLICATE)
        if counted and driven and self._world.server.driven(job_id):
            self._world.watch.settling(job_id, reply)
        return answer


class Worker(Process):
    """Runs workflow code and activities. What it remembers is only a cache."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, number)
        self.cache: dict[str, Instance] = {}
        self.activities: Any = InvokerActivities(FarInvoker(world))

    def evict(self, run_id: str) -> None:
        """Forget a run."""
        cached = self.cache.pop(run_id, None)
        if cached is not None:
            cached.evict()

    def kill(self) -> None:
        """End at once."""
        super().kill()
        for run_id in tuple(self.cache):
            self.evict(run_id)
