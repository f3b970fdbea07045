"""One seed, from its first submission to the end of every job and every workflow."""

from __future__ import annotations

import asyncio
import warnings
import zlib
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from temporalio.client import WorkflowExecutionStatus as Status

from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.testing.jobs import START
from lucius.testing.simulation.clients import Clients
from lucius.testing.simulation.loop import OWNER
from lucius.testing.simulation.plan import HEAL
from lucius.testing.simulation.services import Services
from lucius.testing.simulation.temporal.plan import TemporalPlan
from lucius.testing.simulation.temporal.process import Loop, Process, ask
from lucius.testing.simulation.temporal.roles import InvokerProcess, Orchestrator, Worker
from lucius.testing.simulation.temporal.server import Server
from lucius.testing.simulation.temporal.stores import Broker
from lucius.testing.simulation.temporal.watch import TemporalWatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from lucius.engines.temporal.engine import TemporalEngine

T = TypeVar("T")
PATIENCE = 1_500.0
"""Virtual seconds after the last fault within which everything must be over."""
ROLES: dict[str, type[Process]] = {
    "orchestrator": Orchestrator,
    "invoker": InvokerProcess,
    "worker": Worker,
}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a schedule."""

    seed: int
    broken: tuple[str, ...]
    ended: tuple[str, ...]
    """The states the jobs ended in."""
    workflows: tuple[str, ...]
    kills: int
    commits: int
    steps: int
    digest: int
    """Of every job: the same for every run of the same seed."""

    @property
    def replay(self) -> str:
        """The line that runs it again."""
        return f"python -m lucius.testing.simulation.temporal --seed {self.seed}"


class Front:
    """Lucius as people and services know it: an orchestrator that answers, and the bus."""

    def __init__(self, world: World, orchestrator: Orchestrator) -> None:
        self._world = world
        self.bus = world.bus
        self.clock = world.clock
        self.engine = orchestrator.engine
        self.ledger = orchestrator.ledger

    async def call(self, work: Callable[[TemporalEngine], Awaitable[T]]) -> T:
        """Ask as over HTTP."""
        return await ask(self._world, self._world.orchestrator, lambda there: work(there.engine))


class World:
    """Everything of one schedule."""

    def __init__(self, seed: int) -> None:
        self.plan = TemporalPlan(seed)
        self.loop = Loop()  # type: ignore[abstract]
        self.watch = TemporalWatch(self.plan)
        self._context = copy_context()
        self._context.run(OWNER.set, 0)
        self._processes: dict[str, list[Process]] = {role: [] for role in ROLES}
        self._numbers = 0
        self.kills = 0
        self.server = Server(self)
        self._services: Any = Services(self)  # type: ignore[arg-type]  # a world with a front
        self._clients: Any = Clients(self)  # type: ignore[arg-type]

    def clock(self) -> int:
        """The ledger's time."""
        return START + int(self.loop.time() * 1000)

    def outside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do this as nobody's: it survives every process."""
        return self._context.copy().run(work, *arguments)

    @property
    def life(self) -> Front | None:
        """What people and services see."""
        found = self.orchestrator()
        return Front(self, found) if found is not None else None

    def orchestrator(self) -> Orchestrator | None:
        """The one that lives."""
        found: list[Any] = self._processes["orchestrator"]
        return found[0] if found else None

    def some_invoker(self) -> Process | None:
        """Any that lives."""
        found = self._processes["invoker"]
        return self.plan.random.choice(found) if found else None

    def workers(self) -> list[Worker]:
        """Those that live."""
        found: list[Any] = self._processes["worker"]
        return found

    def run(self) -> Outcome:
        """Run to the end, or to the first broken promise."""
        loop, plan = self.loop, self.plan
        loop.call_soon(self._begin)
        loop.call_later(HEAL, self._heal)
        for role, at in plan.process_kills:
            loop.call_later(at, self._kill, role)
        for verb, at in plan.operators:
            loop.call_later(at, self._operate, verb)
        loop.run(self._over, HEAL + PATIENCE)
        self.watch.broken += loop.errors
        if not self.watch.broken:
            self.watch.finish(self.ledger, kind=plan.kind)
            self.watch.check_workflows(self.server.executions, loop.time())
        outcome = self._outcome()
        self._end()
        return outcome

    def _begin(self) -> None:
        self.ledger = SqliteLedger(":memory:", clock=self.clock)
        self.watch.follow(self.ledger)
        self.bus = Broker(self)
        for role, number in (
            ("orchestrator", 1),
            ("invoker", self.plan.invokers),
            ("worker", self.plan.workers),
        ):
            for _ in range(number):
                self._start(role)
        self.loop.start(self._services.run())
        self.loop.start(self._clients.resume_all())
        self._clients.start()

    def _start(self, role: str) -> None:
        self._numbers += 1
        self._processes[role].append(ROLES[role](self, self._numbers))

    def _kill(self, role: str) -> None:
        living = self._processes[role]
        if living:
            self.kills += 1
            self.plan.faults += 1
            living.pop(self.plan.random.randrange(len(living))).kill()
            self.loop.call_later(self.plan.random.uniform(0.01, 4.0), self._start, role)

    def _operate(self, verb: str) -> None:
        """Somebody takes a workflow into their own hands."""
        known = sorted(self.server.executions)
        if known and not self.plan.healed:
            chosen = self.plan.random.choice(known)
            self.watch.ended_by_hand.add(chosen)
            if verb == "terminate":
                self.server.close(self.server.executions[chosen], Status.TERMINATED, None)
            else:
                self.server.cancel(chosen)

    def _heal(self) -> None:
        self.plan.healed = True

    def _over(self) -> bool:
        if self.watch.broken or self.loop.errors:
            return True
        jobs = self.watch.jobs.values()
        if self._clients.open or not jobs or not all(job.terminal for job in jobs):
            return False
        return not any(execution.open for execution in self.server.executions.values())

    def _outcome(self) -> Outcome:
        jobs = self.watch.jobs
        told = "".join(f"{key}{job!r}" for key, job in sorted(jobs.items()))
        return Outcome(
            seed=self.plan.seed,
            broken=tuple(self.watch.broken),
            ended=tuple(job.state.value for job in jobs.values()),
            workflows=tuple(one.status.name for one in self.server.executions.values()),
            kills=self.kills,
            commits=self.watch.commits,
            steps=self.loop.steps,
            digest=zlib.crc32(told.encode()),
        )

    def _end(self) -> None:
        asyncio._set_running_loop(self.loop)  # noqa: SLF001 - what is let go of may look for its loop
        for living in self._processes.values():
            for process in living:
                process.kill()
        self.loop.kill(0)
        self.bus.die()
        asyncio._set_running_loop(None)  # noqa: SLF001


def run_schedule(seed: int) -> Outcome:
    """Run one seed."""
    with warnings.catch_warnings():
        # A killed process awaits nothing of what it began.
        warnings.simplefilter("ignore", RuntimeWarning)
        return World(seed).run()


def run_schedules(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Run many seeds, one after another."""
    for seed in seeds:
        yield run_schedule(seed)
