"""One service process from start to kill or stop: the real runner and the real store, on virtual time."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucius.sdk import Artifact, Final, Retryable, Service, Step
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.attempt import Tools, key_of
from lucius.sdk.serving.meter import Meter
from lucius.sdk.serving.pools import Processes
from lucius.sdk.serving.runner import Options, Runner
from lucius.sdk.serving.spans import Spans
from lucius.sdk.serving.telling import Telling
from lucius.sdk.workspaces.stores import Stores
from lucius.sdk.workspaces.workspace import Workspace
from lucius.testing.jobs import START
from lucius.testing.simulation.loop import OWNER, nap
from tests.serving.fault_links import FaultyAttempts, FaultyTransport
from tests.serving.fault_plan import STEP_TYPE
from tests.serving.fault_watch import Memory

if TYPE_CHECKING:
    from tests.serving.fault_world import RunnerWorld

FIRST = 1_000
"""The number of the first process; Lucius's own lives have smaller ones."""


class Process:
    """A running service."""

    def __init__(self, number: int, place: int, world: RunnerWorld) -> None:
        self.number = FIRST + number
        self.place = place
        self.world = world
        self.memory = Memory(f"process-{number}")
        self.dead = False
        self.ended = False
        context = copy_context()
        context.run(OWNER.set, self.number)
        self._store = SqliteAttempts(world.store)
        self.runner = Runner(Script(self), self._tools(), self._options(), sleep=nap)
        self.memory.at_work = lambda: [key for key, run in self.runner._running.items() if run.claimed]
        task = world.loop.create_task(self.runner.run(), context=context)
        task.add_done_callback(self._done)

    async def living(self) -> None:
        """A process that is dead stays here for ever."""
        if self.dead:
            await self.world.loop.create_future()

    def stop(self) -> None:
        """As on SIGTERM."""
        self.memory.stopping = True
        self.runner.stop()

    def kill(self) -> None:
        """End at once, like a kill -9."""
        self.dead = True
        self.memory.well = False
        self.world.loop.kill(self.number)
        self._store._connection.close()

    def _done(self, task: asyncio.Task[None]) -> None:
        """It has stopped: in good order, or because something broke it, which nothing here may."""
        if task.cancelled() or task.exception() is not None:
            error = "a cancel" if task.cancelled() else repr(task.exception())
            self.world.watch.broken.append(f"R0 {self.memory.owner} ended with {error}")
        self.world.loop.start(self._leave())

    async def _leave(self) -> None:
        await self._store.close()
        if not self.dead:
            self.world.promises.stopped(self.memory, self.world.loop.alive(self.number))
        self.ended = True

    def _clock(self) -> int:
        return START + int(self.world.loop.time() * 1000) + self.world.plan.skew[self.place]

    def _tools(self) -> Tools:
        transport, attempts = FaultyTransport(self), FaultyAttempts(self, self._store)
        return Tools(
            transport=transport,
            attempts=attempts,
            stores=KeptStores(self),
            processes=Processes(self.world.plan.concurrency),
            telling=Telling(transport, attempts, clock=self._clock, sleep=nap),
            meter=Meter(STEP_TYPE),
            spans=Spans(),
            clock=self._clock,
            sleep=nap,
        )

    def _options(self) -> Options:
        plan = self.world.plan
        return Options(
            owner=self.memory.owner,
            concurrency=plan.concurrency,
            prefetch=plan.prefetch,
            wait=2.0,
            claim_seconds=plan.claim_seconds,
            drain_seconds=plan.drain_seconds,
            scratch=Path(self.world.store).parent,
        )


class Script(Service[dict[str, Any]]):
    """Work that does what the schedule says."""

    step_type = STEP_TYPE
    time_limit = 15.0

    def __init__(self, process: Process) -> None:
        self._process = process

    async def execute(self, step: Step[dict[str, Any]]) -> Any:
        """Work a while, write a file; or fail."""
        world, directive = self._process.world, step.directive
        world.promises.executing(self._process.memory, key_of(directive))
        script = world.plan.script(directive.job_id, directive.step_id)
        if script == "stubborn":
            await _stubbornly(step, world.plan.work)
        seconds = {"slow": 9.0, "overtime": 60.0}.get(script, world.plan.work * world.plan.random.random())
        for tenth in range(10):
            step.progress(tenth / 10, f"{tenth}" if script == "chatty" else "")
            await nap(seconds / 10)
        if script == "final":
            raise Final("HOPELESS", "It can only fail.")
        if script == "retry":
            raise Retryable("BUSY", "Come back later.")
        if script == "bug":
            raise ZeroDivisionError
        if script == "rubbish":
            return [17]
        first = await step.workspace.write("output.txt", directive.lease_id)
        return [first, await step.workspace.write("more.txt", "")]


async def _stubbornly(step: Step[dict[str, Any]], seconds: float) -> None:
    """Work that takes its time to stop."""
    try:
        await nap(seconds)
    except asyncio.CancelledError:
        await nap(0.3)
        raise
    step.cancel.check()


class KeptStores(Stores):
    """Files in the memory of the schedule; where they lie is the real code's choice."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process

    def workspace(self, uri: str, *, step_type: str, attempt_no: int) -> Workspace:
        """Where an attempt writes."""
        place = super().workspace(uri, step_type=step_type, attempt_no=attempt_no)
        return KeptWorkspace(place.uri, self._process)


class KeptWorkspace(Workspace):
    """One folder of them."""

    def __init__(self, uri: str, process: Process) -> None:
        self.uri = uri
        self._process = process

    async def write(self, name: str, data: Any, *, content_type: str | None = None) -> Artifact:
        """Write one file, a little later."""
        await nap(self._process.world.plan.latency())
        await self._process.living()
        uri = f"{self.uri}{name}"
        self._process.world.promises.files[uri] = data.encode()
        return Artifact(
            name=name, uri=uri, content_type=content_type or "text/plain", size=len(data), sha256="0" * 64
        )
