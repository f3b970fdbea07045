"""The temporal engine at work: a real server, a real worker, the invoker's desk, and time moved by hand.

The hand is the ledger's clock, which judges. A sweep is a round of the drift check without patience: it
nudges the workflows of due jobs, and they ask, as their own timers would have them do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from itertools import count
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.core.admission import Limits
from lucius.core.commands import Command, Reply, Tick
from lucius.core.decide import Chance, decide
from lucius.core.events import StepFailed, StepRetryScheduled
from lucius.core.job import Job
from lucius.core.routing import reply_topics, topics
from lucius.core.states import StepState
from lucius.dispatch.backlog import Backlog
from lucius.dispatch.intake import REPLIES, Intake
from lucius.dispatch.recovery import recover
from lucius.dispatch.relay import Relay
from lucius.engines.temporal.desk import InvokerDesk
from lucius.engines.temporal.drift import Overdue
from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.lateness import Lateness
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.engines.temporal.signalling import WorkflowSignals
from lucius.engines.temporal.starting import WorkflowStarts
from lucius.engines.temporal.worker import build_worker
from lucius.ports.engine import Answer
from lucius.ports.invoker import Advance, Advanced, Attempted
from lucius.testing.engines import EngineHarness, FaultyBus
from lucius.testing.jobs import Hand, render

_numbers = count(1)


class Counted:
    """An invoker that knows how much is under way."""

    def __init__(self, inner: InvokerDesk) -> None:
        self.inner = inner
        self.under_way = 0

    async def _during(self, work: Awaitable[Any]) -> Any:
        self.under_way += 1
        try:
            return await work
        finally:
            self.under_way -= 1

    async def advance(self, ask: Advance) -> Advanced:
        """As the desk."""
        found: Advanced = await self._during(self.inner.advance(ask))
        return found

    async def attempt(self, minted: Attempted) -> Advanced:
        """As the desk."""
        return await self.inner.attempt(minted)

    async def publish(self, lane: int, directive: bytes) -> None:
        """As the desk."""
        await self.inner.publish(lane, directive)

    def report(self, tenant_id: str, job_id: str, reply: Reply) -> Awaitable[Answer]:
        """As the desk: judged now."""
        return self._during(self.inner.report(tenant_id, job_id, reply))

    def control(self, job_id: str, command: Command, limits: Limits) -> Awaitable[Answer]:
        """As the desk: judged now."""
        return self._during(self.inner.control(job_id, command, limits))

    async def republish(self, job_ids: list[str]) -> int:
        """As the desk."""
        return await self.inner.republish(job_ids)


class TemporalWorld(EngineHarness):
    """Orchestrator, invoker and worker without their doors."""

    def __init__(self, path: Path, client: Client) -> None:
        self.path = str(path)
        self.client = client
        self.clock = Hand()
        self.task_queue = f"suite-{path.parent.name}-{next(_numbers)}"

    async def start(self) -> None:
        """From what the file and the server hold."""
        self.bus = FaultyBus(EmbeddedBus(topics=(*topics(), *reply_topics()), clock=self.clock))
        self.sqlite = SqliteLedger(self.path, clock=self.clock)
        self.ledger = self.sqlite
        self.relay = Relay(self.ledger, self.bus, probe=0.005)
        self.signals = WorkflowSignals(self.client)
        self.backlog = Backlog(self.ledger, self.bus, clock=self.clock)
        self.desk = InvokerDesk(
            self.ledger,
            self.relay,
            self.backlog,
            self.signals,
            Lateness(self.bus, REPLIES.name, clock=self.clock, grace=0),
            render=render,
            tell=lambda *_: (),
            clock=self.clock,
            spread=lambda: 0.5,
            patience=0.05,
        )
        self.invoker = Counted(self.desk)
        self.starts = WorkflowStarts(self.client, task_queue=self.task_queue, search_attributes=False)
        self.engine = TemporalEngine(
            self.ledger, self.starts, self.invoker, tell=lambda *_: (), waiting=self.relay.waiting
        )
        self.lost = LostStarts(self.ledger, self.starts, clock=self.clock)
        self.worker = build_worker(self.client, self.invoker, task_queue=self.task_queue, drain_seconds=0.5)
        intake = Intake(self.bus, self.invoker.report, sleep=asyncio.sleep)
        self.tasks = [
            asyncio.create_task(self.relay.run(self.desk.note)),
            asyncio.create_task(intake.run()),
            asyncio.create_task(self.worker.run()),
        ]
        await recover(self.ledger, self.relay)

    async def stop(self) -> None:
        """Let go of everything."""
        await self.worker.shutdown()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.sqlite.close()
        await self.bus.close()

    async def restart(self) -> None:
        """The bus forgets everything; Temporal and the ledger do not."""
        await self.stop()
        await self.start()

    async def sweep(self) -> None:
        """Rounds of the drift check until nothing moves any more."""
        await self.rest()
        overdue = Overdue(self.ledger, self.signals, self.desk.closing, clock=self.clock, patience=0)
        before: object = None
        while before != (before := await self._versions()) or await self._lapsed():
            await self.lost.run_once()
            await overdue.run_once()
            await self.rest()

    async def rest(self) -> None:
        """Nothing is under way: workflows know and want nothing, the ledger is written, the bus has all."""
        quiet = 0
        while quiet < 2:
            for _ in range(20):
                await asyncio.sleep(0)
            await self.sqlite._idle.wait()
            if not self.bus.away:
                await self.relay.drained()
            before = await self._versions()
            busy = await self._busy()
            quiet = quiet + 1 if not busy and before == await self._versions() else 0

    async def bus_back(self) -> None:
        """The relay finds out by its own probe."""
        self.bus.away = False
        await self.relay.drained()
        await self.rest()

    async def _open(self) -> list[Job]:
        jobs = [await self.ledger.job(job_id) for job_id in await self.ledger.open_attempts()]
        return [job for job in jobs if job is not None]

    async def _versions(self) -> dict[str, int]:
        return {job.job_id: job.version for job in await self._open()}

    async def _lapsed(self) -> bool:
        """Whether time has ended something that its workflow has not asked about yet: it will, on its own."""
        for job in await self._open():
            verdict = decide(job, Tick(held=await self.backlog.held(job)), self.clock(), Chance(lease_id=""))
            if any(isinstance(event, (StepFailed, StepRetryScheduled)) for event in verdict.events):
                return True
        return False

    async def _busy(self) -> bool:
        """Whether some workflow of an open job is about to ask; one that waits for the bus is not."""
        for job in await self._open():
            unsent = any(step.state is StepState.DISPATCHING for step in job.steps)
            if unsent and (self.bus.away or job.order.protocol.steps[0].step_type in self.bus.poison):
                continue
            try:
                busy = await self.client.get_workflow_handle(job.job_id).query("busy", result_type=bool)
            except (RPCError, WorkflowQueryFailedError):
                continue
            if busy:
                return True
        return False
