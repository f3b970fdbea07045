"""The two worlds of the dual run, made so that the same action leaves both at rest at the same moment.

The outbox world is taken as it is. The temporal world differs from the one of the engine suite in haste and
in faults, not in rules: calls to an invoker without a bus are repeated sooner, workflows run without the
sandbox (the suite runs them in it), all workflows are asked at once whether they rest. It can be made deaf
(a signal that Temporal does not take) and can lose a start.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.common import RetryPolicy
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner

from lucius.core.commands import Reply
from lucius.core.events import AttemptCreated
from lucius.core.job import Job
from lucius.core.states import RUNNING_JOB, StepState
from lucius.engines.temporal import worker as worker_module
from lucius.engines.temporal import workflow as workflow_module
from lucius.engines.temporal.drift import Overdue
from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.left_open import LeftOpen
from lucius.errors import Unavailable
from lucius.ports.engine import Answer
from lucius.ports.invoker import Advance, Advanced
from tests.engines.temporal_world import TemporalWorld

SOON = RetryPolicy(initial_interval=timedelta(milliseconds=30), backoff_coefficient=1.0)
"""How soon a call is repeated that an absent bus held up."""
ROUNDS = 600
"""Looks at what is due before it counts as stuck: far more than the slowest machine needs."""


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Repeat calls soon, and start workflows without a sandbox of their own."""
    patch.setattr(workflow_module, "PATIENT", SOON)
    patch.setattr(workflow_module, "GRACE", timedelta(seconds=1))
    patch.setattr(worker_module, "SANDBOX", UnsandboxedWorkflowRunner())


class DualTemporalWorld(TemporalWorld):
    """The temporal engine, in haste."""

    deaf = False
    """Temporal takes no signals of replies and control."""
    loses_starts = False
    """Temporal starts nothing that the engine asks for; the duty that looks for lost starts is heard."""

    def __init__(self, path: Path, client: Client) -> None:
        super().__init__(path, client)
        self.drawn: set[str] = set()
        """Every lease that a workflow has drawn."""
        self.reporting = 0
        """Replies that are being judged, or told to their workflow."""

    async def start(self) -> None:
        """From what the file and the server hold."""
        await super().start()
        self.reporting = 0
        tell, start = self.signals.tell, self.starts.start

        async def told(job_id: str, signal: Any) -> bool:
            if self.deaf:
                raise Unavailable("Temporal hears nothing", code="TEMPORAL_UNAVAILABLE")
            return await tell(job_id, signal)

        async def started(job: Job) -> bool:
            if self.loses_starts:
                raise Unavailable("Temporal starts nothing", code="TEMPORAL_UNAVAILABLE")
            return await start(job)

        advance = self.invoker.advance

        async def asked(ask: Advance) -> Advanced:
            self.drawn.add(ask.lease_id)
            return await advance(ask)

        report = self.desk.report

        def reported(tenant_id: str, job_id: str, reply: Reply) -> Awaitable[Answer]:
            self.reporting += 1
            return self._counted(report(tenant_id, job_id, reply))  # judged now, as ever

        self.desk.report = reported  # type: ignore[method-assign]
        self.invoker.advance = asked  # type: ignore[method-assign]
        self.signals.tell = told  # type: ignore[method-assign]
        self.starts.start = started  # type: ignore[method-assign]

    async def _counted(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        finally:
            self.reporting -= 1

    @contextmanager
    def hearing_nothing(self) -> Iterator[None]:
        """Signals are lost for as long as this lasts."""
        self.deaf = True
        yield
        self.deaf = False

    @contextmanager
    def losing_starts(self) -> Iterator[None]:
        """Starts are lost for as long as this lasts."""
        self.loses_starts = True
        yield
        self.loses_starts = False
        assert isinstance(self.engine, TemporalEngine)
        self.engine._away_until = 0.0  # the next order is started at once again

    async def strangers(self, job_id: str) -> list[str]:
        """Attempts of a job under leases that no workflow has drawn: only workflows may."""
        made = [e for e in await self.ledger.events(job_id) if isinstance(e, AttemptCreated)]
        # Steps that start side by side share what was drawn: `lease`, `lease-1`, `lease-2`.
        return [
            f" {event.step_id}#{event.attempt_no} has the lease {event.lease_id}, which no workflow drew"
            for event in made
            if event.lease_id.partition("-")[0] not in self.drawn
        ]

    async def sweep(self) -> None:
        """Rounds of the duties until nothing is due but what waits for the bus beside a sibling."""
        await self.rest()
        nudged: dict[str, int] = {}
        due: list[Job] = []
        for _ in range(ROUNDS):
            due = [job for job in await self._due() if not self.held_up(job)]
            if not due:
                return
            if any(nudged.get(job.job_id) != job.version for job in due):
                nudged = {job.job_id: job.version for job in due}
                await self.lost.run_once()
                await self._overdue().run_once()
            await asyncio.sleep(0.005)  # a call that the bus held up is repeated by Temporal's own clock
            await self.rest()
        raise AssertionError(f"still due: {[(job.job_id, job.state, job.steps) for job in due]}")

    async def rest(self) -> None:
        """No workflow wants anything, the ledger is written, the bus has all that it can have."""
        while True:
            for _ in range(20):
                await asyncio.sleep(0)
            await self.sqlite._idle.wait()
            if not self.bus.away:
                await self.relay.drained()
            while self.reporting:
                await asyncio.sleep(0)
            jobs = await self._open()
            busy = await asyncio.gather(*(self._asks(job) for job in jobs))
            await self._tried()
            if not any(busy) and {job.job_id: job.version for job in jobs} == await self._versions():
                return

    async def _tried(self) -> None:
        """What an absent bus was offered is written down."""
        while self.bus.away and (self.relay._queue or self.relay._wake.is_set()):
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        await self.sqlite._idle.wait()

    async def tidy(self) -> None:
        """The duty that looks for workflows left open, again and again, until cancelled.

        It compares Temporal's times, which are real, so its clock is.
        """
        duty = LeftOpen(
            self.client,
            self.ledger,
            self.signals,
            self.desk.closing,
            clock=lambda: int(time.time() * 1000),
            task_queue=self.task_queue,
            grace=0,
        )
        while True:
            await duty.run_once()
            await asyncio.sleep(0.2)

    def _overdue(self) -> Overdue:
        return Overdue(self.ledger, self.signals, self.desk.closing, clock=self.clock, patience=0)

    async def _due(self) -> list[Job]:
        due = set(await self.ledger.due(self.clock(), 500))
        return [job for job in await self._open() if job.job_id in due]

    def waits_for_bus(self, job: Job) -> bool:
        """Whether its workflow stands in a call that the bus holds up."""
        unsent = any(step.state is StepState.DISPATCHING for step in job.steps)
        return self.bus.away and job.state in RUNNING_JOB and unsent

    def held_up(self, job: Job) -> bool:
        """Whether a sibling may not have started yet that would have in another engine."""
        grouped = any(step.group is not None for step in job.order.protocol.steps)
        return grouped and self.waits_for_bus(job)

    async def _asks(self, job: Job) -> bool:
        if self.waits_for_bus(job):
            return False
        try:
            handle = self.client.get_workflow_handle(job.job_id)
            return bool(await handle.query("busy", result_type=bool))
        except (RPCError, WorkflowQueryFailedError):  # lost starts have no workflow to ask
            return False
