"""The temporal engine against a bare Temporal workflow with the same activities and signals.

Both run beside one development server for the whole measurement, and take turns on it; a round of one
is followed by a round of the other. A round ends when the last workflow has closed, as the server says,
which also checks that all of them completed.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from statistics import mean, median

import httpx2
import msgspec
from temporalio.client import Client

from bench.figures import ROUNDS, Aim, Figure, Run, at_least, at_most, compared
from bench.load import Spec, load
from bench.orders import SLOT, TENANTS, envelope, submits
from bench.processes import cpu_seconds
from bench.temporal_sides import Side, bare, ours
from lucius.testing.temporal import TemporalServer, temporal_server

PART = "temporal"
JOBS = 150
WARM = 40
ALONE = 15
UNDER_WAY = 32
"""Submits under way; jobs are submitted much quicker than they are done, so nearly all wait at once."""
STUCK_AFTER = 180.0
BASELINE = "bare workflow"
JSON = {"Content-Type": "application/json"}


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of jobs took."""

    rate: float
    front_ms: float
    worker_ms: float
    server_ms: float
    """CPU time a job."""
    alone_ms: float
    events: float
    events_alone: float
    """History events a job: all at once, and one job at a time."""

    @property
    def cpu_ms(self) -> float:
        """Of all three processes."""
        return self.front_ms + self.worker_ms + self.server_ms


def measure(run: Run) -> list[Figure]:
    """Round by round, in turn."""
    home = run.home.resolve()
    with ExitStack() as stack:
        server = stack.enter_context(temporal_server(home))
        sides = (
            stack.enter_context(ours(home / "lucius", server.address)),
            stack.enter_context(bare(home / "bare", server.address)),
        )
        return _figures(*asyncio.run(_rounds(run, server, sides)))


async def _rounds(run: Run, server: TemporalServer, sides: tuple[Side, Side]) -> list[list[Round]]:
    client = await Client.connect(server.address)
    turns = [(Turns(side, client, server.pid), list[Round]()) for side in sides]
    for number in range(ROUNDS + 1):
        for turn, found in turns:
            run.tell(f"round {number} of {ROUNDS}: {turn.side.name}" if number else "warming up")
            one = await turn.round(JOBS if number else WARM)
            if number:
                found.append(one)
    await asyncio.sleep(0.2)  # a client that is dropped right after a call crashes now and then
    return [found for _, found in turns]


class Turns:
    """The rounds of one side."""

    def __init__(self, side: Side, client: Client, server: int) -> None:
        self.side = side
        self._client = client
        self._server = server
        self._jobs = 0

    async def round(self, jobs: int) -> Round:
        """A number of jobs at once, then some one by one."""
        before = self._spent()
        port = self.side.port
        spec = Spec(port=port, requests=submits(port), count=jobs, connections=UNDER_WAY, first=self._jobs)
        began = (await asyncio.to_thread(load, spec, expect=202)).started
        self._jobs += jobs
        seconds = await self._completed() - began
        front, worker, server = (
            1000 * (now - then) / jobs for now, then in zip(self._spent(), before, strict=True)
        )
        events = await self._events(jobs)
        alone = await self._alone()
        return Round(
            rate=jobs / seconds, front_ms=front, worker_ms=worker, server_ms=server, alone_ms=alone,
            events=events, events_alone=await self._events(ALONE),
        )  # fmt: skip

    def _spent(self) -> tuple[float, float, float]:
        return cpu_seconds(self.side.front), cpu_seconds(self.side.worker), cpu_seconds(self._server)

    async def _completed(self) -> float:
        """When the last workflow was seen to have completed."""
        query = f"TaskQueue = '{self.side.task_queue}' AND ExecutionStatus = 'Completed'"
        until = time.monotonic() + STUCK_AFTER
        while (count := (await self._client.count_workflows(query)).count) < self._jobs:
            if time.monotonic() > until:
                message = f"{self._jobs - count} workflows of {self.side.name} have not completed in time"
                raise RuntimeError(message)
            await asyncio.sleep(0.05)
        return time.time()

    async def _events(self, jobs: int) -> float:
        """Events in the histories of the last jobs, on average."""
        query = f"TaskQueue = '{self.side.task_queue}'"
        return mean([one.history_length async for one in self._client.list_workflows(query, limit=jobs)])

    async def _alone(self) -> float:
        """Milliseconds from the submit of a job to its workflow's end, when nothing else runs."""
        times = []
        order = msgspec.json.encode(envelope(TENANTS[0])).decode()
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.side.port}", trust_env=False) as http:
            for _ in range(ALONE):
                body = order.replace(SLOT, f"{self._jobs:012d}")
                self._jobs += 1
                began = time.perf_counter()
                answer = await http.post("/v1/orchestrate", content=body, headers=JSON)
                await self._client.get_workflow_handle(answer.raise_for_status().json()["jobId"]).result()
                times.append(1000 * (time.perf_counter() - began))
        await self._completed()
        return median(times)


def _figures(ours: list[Round], bare: list[Round]) -> list[Figure]:
    def beside(name: str, unit: str, field: str, aim: Aim | None = None) -> Figure:
        samples, against = ([getattr(one, field) for one in rounds] for rounds in (ours, bare))
        figure = compared(PART, name, unit, samples, baseline=BASELINE, against=against, aim=aim)
        # Of each round with the one right after it: a machine that does much else changes its speed.
        ratio = median(one / other for one, other in zip(samples, against, strict=True))
        return msgspec.structs.replace(figure, ratio=ratio)

    return [
        beside("three-step jobs", "jobs/s", "rate", at_least(0.8)),
        beside("history events a job, alone", "events", "events_alone", at_most(1.0)),
        beside("history events a job, all at once", "events", "events", at_most(1.0)),
        beside("one job alone, to its workflow's end, p50", "ms", "alone_ms"),
        beside("CPU a job, all processes", "ms", "cpu_ms"),
        beside("CPU a job, worker", "ms", "worker_ms"),
        beside("CPU a job, API and invoker", "ms", "front_ms"),
        beside("CPU a job, Temporal server", "ms", "server_ms"),
    ]
