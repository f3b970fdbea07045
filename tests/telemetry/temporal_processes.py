"""Orchestrator, invoker and temporal worker as three processes would be: each with telemetry of its own.

They share one event loop and one ledger; between worker and invoker is a real socket, and the server is
a real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.core.routing import reply_topics, topics
from lucius.dispatch.backlog import Backlog
from lucius.dispatch.directives import Directives
from lucius.dispatch.intake import REPLIES, Intake
from lucius.dispatch.relay import Relay
from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.engines.temporal.desk import InvokerDesk
from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.lateness import Lateness
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.engines.temporal.signalling import WorkflowSignals
from lucius.engines.temporal.starting import WorkflowStarts
from lucius.engines.temporal.tracing import interceptors
from lucius.engines.temporal.worker import build_worker
from lucius.entrypoints.invoker import BearerTokens, InvokerServices, create_invoker_app
from lucius.runtime import nature
from lucius.telemetry.asgi import ObservedApp
from lucius.telemetry.journal import Journal
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.observer import CommitObserver
from lucius.telemetry.traces import (
    NoTraces,
    OpenTelemetryTraces,
    Traces,
    attempt_traceparent,
    open_provider,
    within,
)
from lucius.testing.engines import EngineHarness, FaultyBus
from lucius.testing.temporal import TemporalServer
from tests.invoker.world import TOKEN, inviting, serving


def open_for(endpoint: str | None, name: str) -> Traces:
    """The traces of one process."""
    if endpoint is None:
        return NoTraces()
    return OpenTelemetryTraces(open_provider(endpoint, name=name, version="1"))


class Processes(EngineHarness):
    """Everything at work; `close_traces` sends what waits."""

    def __init__(self, server: TemporalServer, path: Path, endpoint: str | None) -> None:
        self.where = Whereabouts(address=server.address)
        self.path = path
        self.clock: Any = nature.now_ms
        self.orchestrator, self.invoker, self.worker = (
            open_for(endpoint, name) for name in ("orchestrator", "invoker", "worker")
        )
        self.metrics = Metrics(clock=nature.now_ms, version="1")

    @asynccontextmanager
    async def at_work(self, *, cached: int = 1_000) -> AsyncIterator[Processes]:
        """All three, for a block."""
        async with AsyncExitStack() as stack:
            self.bus = FaultyBus(EmbeddedBus(topics=(*topics(), *reply_topics()), clock=self.clock))
            stack.push_async_callback(self.bus.close)
            ledger = self.ledger = SqliteLedger(str(self.path / "ledger.db"), clock=self.clock)
            stack.push_async_callback(ledger.close)
            observer = CommitObserver(metrics=self.metrics, journal=Journal(), traces=self.invoker)
            ledger.on_commit(observer.listen)
            relay, desk = await self._desk(ledger)
            url = await stack.enter_async_context(serving(self._door(desk)))
            asking = await stack.enter_async_context(inviting(url))
            client = await connect(self.where, interceptors=interceptors(self.orchestrator), lazy=False)
            queue = f"processes-{self.path.name}"
            self.starts = WorkflowStarts(client, task_queue=queue, search_attributes=False)
            self.engine = TemporalEngine(ledger, self.starts, asking, tell=lambda *_: ())
            self.lost = LostStarts(ledger, self.starts, clock=self.clock)
            intake = Intake(self.bus, desk.report, sleep=asyncio.sleep, wait=0.05)
            theirs = await connect(self.where, interceptors=interceptors(self.worker), lazy=False)
            worker = build_worker(theirs, asking, task_queue=queue, drain_seconds=0, cached=cached)
            tasks = [asyncio.create_task(work) for work in (relay.run(desk.note), intake.run())]
            stack.push_async_callback(_ended, tasks)
            await stack.enter_async_context(worker)
            self.client = client
            yield self

    async def close_traces(self) -> None:
        """Send what waits."""
        for traces in (self.orchestrator, self.invoker, self.worker):
            await traces.close()

    async def _desk(self, ledger: SqliteLedger) -> tuple[Relay, InvokerDesk]:
        relay = Relay(ledger, self.bus, probe=0.005)
        client = await connect(self.where, interceptors=interceptors(self.invoker), lazy=False)
        self.signals = WorkflowSignals(client)
        desk = InvokerDesk(
            ledger,
            relay,
            Backlog(ledger, self.bus, clock=self.clock),
            self.signals,
            Lateness(self.bus, REPLIES.name, clock=self.clock, grace=0),
            render=Directives(lambda *_: "token", {}, span=partial(attempt_traceparent, self.invoker)),
            tell=lambda *_: (),
            clock=self.clock,
            spread=lambda: 0.5,
            within=partial(within, self.invoker),
        )
        return relay, desk

    def _door(self, desk: InvokerDesk) -> ObservedApp:
        app = create_invoker_app(
            InvokerServices(
                invoker=desk,
                tokens=BearerTokens([TOKEN]),
                ready=lambda: {"ledger": "ok"},
                draining=lambda: False,
                new_id=nature.new_id,
                metrics_text=self.metrics.exposition,
                version="1",
            )
        )
        return ObservedApp(app, metrics=self.metrics, traces=self.invoker)

    async def sweep(self) -> None:
        """Nothing: time is real here."""

    async def rest(self) -> None:
        """Nothing: whoever waits, waits for an outcome."""

    async def restart(self) -> None:
        """Nobody asks for it."""
        raise NotImplementedError

    async def bus_back(self) -> None:
        """Nobody asks for it."""
        raise NotImplementedError


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
