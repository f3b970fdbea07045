"""What sees everything and changes nothing: metrics, traces, and those who follow jobs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from lucius import __version__
from lucius.runtime import nature
from lucius.telemetry.gauges import bus_gauges, ledger_gauges
from lucius.telemetry.journal import Journal
from lucius.telemetry.lifebook import RunWatch, lifebook_gauges
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.observer import CommitObserver
from lucius.telemetry.traces import Traces, open_traces, otlp_endpoint
from lucius.usecases.query import Hub

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.lifebook.ports.queue import RunQueue
    from lucius.lifebook.ports.store import RunStore
    from lucius.ports.bus import Bus
    from lucius.ports.ledger import Ledger
    from lucius.runtime.settings import Settings


class Watching(msgspec.Struct, frozen=True, kw_only=True):
    """Told by ledger and bus."""

    metrics: Metrics
    traces: Traces
    hub: Hub
    runs: RunWatch

    def watch(self, ledger: Ledger, bus: Bus, *, limit: Callable[[], int]) -> None:
        """Hear of every commit; count what waits. `limit`: how many jobs may be open, 0: any number."""
        observer = CommitObserver(metrics=self.metrics, journal=Journal(), traces=self.traces)
        ledger.on_commit(observer.listen)
        ledger.on_commit(self.hub.listen)
        self.metrics.gauges("ledger", ledger_gauges(ledger, clock=nature.now_ms, limit=limit))
        self.metrics.gauges("bus", bus_gauges(bus))

    def watch_runs(self, store: RunStore, queue: RunQueue, dead: RunQueue) -> None:
        """Count what waits of lifebook runs."""
        self.metrics.gauges("lifebook", lifebook_gauges(store, queue, dead, clock=nature.now_ms))


def open_watching(settings: Settings, name: str = "lucius") -> Watching:
    """Everything at zero. `name`: of the process, in traces."""
    metrics = Metrics(clock=nature.now_ms, version=__version__, tenants=settings.metrics_tenants)
    traces = open_traces(otlp_endpoint(settings.otlp_endpoint, os.environ), version=__version__, name=name)
    return Watching(metrics=metrics, traces=traces, hub=Hub(), runs=RunWatch(metrics.runs, traces))
