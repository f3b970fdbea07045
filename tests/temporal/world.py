"""The temporal engine in real time: the ledger's clock is the wall's, and workflow timers alone drive it.

Nothing here nudges: no sweep, no drift check, unless a test runs one. Whoever waits, waits for a commit of
the ledger or for the end of a workflow, and not for ever.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError

from lucius.core import commands as cmd
from lucius.core.job import Job
from lucius.core.protocol import StepRecipe
from lucius.engines.temporal.drift import Overdue
from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.left_open import LeftOpen
from lucius.engines.temporal.messages import Outcome, Start
from lucius.engines.temporal.starting import WorkflowStarts
from lucius.engines.temporal.worker import build_worker
from lucius.testing.jobs import Hand, recipe
from lucius.wire.messages import DirectiveMessage
from tests.engines.temporal_world import TemporalWorld

PATIENCE = 30.0
"""Seconds after which a test has waited in vain; it ends by an event, never by this."""
QUICK: dict[str, Any] = {
    "ack_timeout": 10_000,
    "lease": 600,
    "ack_backoff": (100,),
    "execution_backoff": (100,),
    "publish_backoff": (100,),
}
"""Times of a step that a test can wait for; a service is only late to answer where a test wants it to be."""


class Wall(Hand):
    """A clock that nobody moves."""

    def __call__(self) -> int:
        """The time."""
        return time.time_ns() // 1_000_000


class Ended(msgspec.Struct, frozen=True):
    """How a workflow ended, as Temporal tells it."""

    status: WorkflowExecutionStatus | None
    outcome: Outcome | None = None
    failure: BaseException | None = None

    @property
    def failed_with(self) -> str | None:
        """The type of its failure."""
        return self.failure.type if isinstance(self.failure, ApplicationError) else None


class LiveWorld(TemporalWorld):
    """Orchestrator, invoker and worker in real time."""

    def __init__(self, path: Path, client: Client, *, attributes: bool = False, **starting: Any) -> None:
        super().__init__(path, client)
        self.clock = Wall()
        self._attributes = attributes
        self._starting = starting
        self._waiting: set[asyncio.Event] = set()

    async def start(self) -> None:
        """With starts as this test wants them."""
        await super().start()
        self.ledger.on_commit(self._moved)
        self.starts = WorkflowStarts(
            self.client, task_queue=self.task_queue, search_attributes=self._attributes, **self._starting
        )
        self.engine = TemporalEngine(self.ledger, self.starts, self.invoker, tell=lambda *_: ())
        self.lost._starts = self.starts

    async def worker_away(self) -> None:
        """No worker, as after a crash of the only one."""
        await self.worker.shutdown()

    def worker_back(self, **more: Any) -> None:
        """A worker again; it knows nothing of what the one before had cached."""
        self.worker = build_worker(
            self.client, self.invoker, task_queue=self.task_queue, drain_seconds=0, **more
        )
        self.tasks.append(asyncio.create_task(self.worker.run()))

    def _moved(self, _: object) -> None:
        for event in self._waiting:
            event.set()

    # -- looking ------------------------------------------------------------------------------

    async def until(self, job: Job, holds: Callable[[Job], bool]) -> Job:
        """The job as soon as this holds."""
        moved = asyncio.Event()
        self._waiting.add(moved)
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    moved.clear()
                    found = await self.row(job)
                    if holds(found):
                        return found
                    await moved.wait()
        finally:
            self._waiting.discard(moved)

    async def row(self, job: Job) -> Job:
        """The job as the ledger has it now."""
        found = await self.ledger.job(job.job_id)
        assert found is not None
        return found

    def run(self, job: Job) -> WorkflowHandle[Any, Outcome]:
        """The workflow of a job, its latest run."""
        return self.client.get_workflow_handle(job.job_id, result_type=Outcome)

    async def ended(self, job: Job) -> Ended:
        """How the workflow ended, once it has."""
        outcome, failure = None, None
        try:
            async with asyncio.timeout(PATIENCE):
                outcome = await self.run(job).result()
        except WorkflowFailureError as error:
            failure = error.cause
        return Ended((await self.run(job).describe()).status, outcome, failure)

    async def counts(self, job: Job, run_id: str | None = None) -> Counter[str]:
        """What happened in the workflow, by kind of event."""
        handle = self.client.get_workflow_handle(job.job_id, run_id=run_id)
        history = await handle.fetch_history()
        names = (EventType.Name(event.event_type) for event in history.events)
        return Counter(name.removeprefix("EVENT_TYPE_") for name in names)

    async def poll(self, asked: Callable[[], Awaitable[bool]], what: str) -> None:
        """Ask until it is so: for what is listed late and told to nobody."""
        deadline = time.monotonic() + PATIENCE
        while not await asked():
            assert time.monotonic() < deadline, f"waited in vain for: {what}"
            await asyncio.sleep(0.02)

    async def in_step(self, job: Job) -> None:
        """Wait until the run knows what the ledger knows."""

        async def same() -> bool:
            known: Start = await self.run(job).query("standing", result_type=Start)
            return known.standing.version == (await self.row(job)).version

        await self.poll(same, "the run to know what the ledger knows")

    async def set_back(self, job: Job) -> None:
        """What `temporal workflow reset` does, to the end of the first workflow task."""
        run_id = (await self.run(job).describe()).run_id
        await self.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=self.client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=job.job_id, run_id=run_id),
                workflow_task_finish_event_id=4,
                request_id=f"reset-{run_id}",
                reason="to see what happens",
            )
        )

    # -- duties -------------------------------------------------------------------------------

    def overdue(self) -> Overdue:
        """The drift check of rows, without patience."""
        return Overdue(self.ledger, self.signals, self.desk.closing, clock=self.clock, patience=0)

    def left_open(self, **more: Any) -> LeftOpen:
        """The drift check of Temporal's lists, without grace, of this world alone."""
        given = {"grace": 0, "task_queue": self.task_queue, **more}
        return LeftOpen(self.client, self.ledger, self.signals, self.desk.closing, clock=self.clock, **given)

    # -- playing ------------------------------------------------------------------------------

    async def acked(self, directive: DirectiveMessage) -> None:
        """The service has it, and hears that this counts."""
        await self.engine.report(directive.tenant_id, directive.job_id, cmd.Ack(**attempt_of(directive)))

    async def beat(self, directive: DirectiveMessage) -> None:
        """The service is still at work."""
        await self.engine.report(
            directive.tenant_id, directive.job_id, cmd.Heartbeat(**attempt_of(directive))
        )

    async def serve(self, job: Job) -> Ended:
        """Do everything that is asked, quickly, until the workflow has ended."""
        while not (await self.row(job)).terminal:
            directive = await self.take()
            await self.acked(directive)
            await self.report(directive)
        return await self.ended(job)


def attempt_of(directive: DirectiveMessage) -> dict[str, Any]:
    """What a reply of this attempt names."""
    return {
        "step_id": directive.step_id, "attempt_no": directive.attempt_no, "lease_id": directive.lease_id,
    }  # fmt: skip


def quick(name: str, **more: Any) -> StepRecipe:
    """A step whose times a test can wait for."""
    return recipe(name, **{**QUICK, **more})
