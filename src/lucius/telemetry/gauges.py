"""Gauges: numbers nobody keeps, asked for when somebody scrapes.

A source is any callable, plain or async, that answers readings: a number, or a number by label, for
each of its metrics. All sources are asked side by side; one that fails or is slow is left out of this
scrape and counted as a telemetry error, so `/metrics` answers even when the ledger does not.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping

from prometheus_client.core import GaugeMetricFamily

from lucius.core.states import COUNTED_JOB
from lucius.ports.bus import Bus
from lucius.ports.ledger import Ledger
from lucius.telemetry import catalogue as c
from lucius.telemetry.counts import Cap

Reading = float | Mapping[str, float]
Readings = Mapping[c.Metric, Reading]
Source = Callable[[], Readings | Awaitable[Readings]]
#: Tasks that wait, and workers that ask, both by kind of task.
QueueFigures = tuple[Mapping[str, float], Mapping[str, float]]


class Gauges:
    """The sources of all gauges and their last readings."""

    def __init__(self, *, patience: float, failed: Callable[[str], None]) -> None:
        self._sources: dict[str, Source] = {}
        self._readings: list[Readings] = []
        self._patience = patience
        self._failed = failed
        self._label = Cap(100)

    def add(self, part: str, source: Source) -> None:
        """Ask `source` at each scrape; `part` names it when it fails."""
        self._sources[part] = source

    async def refresh(self) -> None:
        """Ask every source."""
        self._readings = await asyncio.gather(*(self._ask(*item) for item in self._sources.items()))

    async def _ask(self, part: str, source: Source) -> Readings:
        try:
            async with asyncio.timeout(self._patience):
                answer = source()
                return await answer if inspect.isawaitable(answer) else answer
        except Exception:  # noqa: BLE001 a scrape must not fail because one source does
            self._failed(part)
            return {}

    def families(self) -> list[GaugeMetricFamily]:
        """What a scrape sees: the last readings."""
        return [
            self._family(metric, reading)
            for readings in self._readings
            for metric, reading in readings.items()
        ]

    def _family(self, metric: c.Metric, reading: Reading) -> GaugeMetricFamily:
        family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
        if not isinstance(reading, Mapping):
            family.add_metric([], reading)
            return family
        sums: dict[str, float] = {}
        for value, number in reading.items():
            label = self._label(value)
            sums[label] = sums.get(label, 0) + number
        for label, number in sums.items():
            family.add_metric([label], number)
        return family


def ledger_gauges(ledger: Ledger, *, clock: Callable[[], int], limit: Callable[[], int]) -> Source:
    """Backlogs and in-flight jobs as the ledger counts them, against the system's limit."""

    async def read() -> Readings:
        census = await ledger.census(clock())
        return {
            c.OUTBOX_BACKLOG: census.unsent,
            c.DUE_BACKLOG: census.due,
            c.DUE_LAG: census.due_lag_ms / 1000,
            c.DEAD_LETTERS: census.dead_letters,
            c.JOBS_OPEN: dict(census.by_state),
            c.IN_FLIGHT: sum(census.by_state.get(state.value, 0) for state in COUNTED_JOB),
            c.IN_FLIGHT_LIMIT: limit(),
        }

    return read


def bus_gauges(bus: Bus) -> Source:
    """What waits on the bus."""

    async def read() -> Readings:
        return {c.BUS_BACKLOG: dict(await bus.backlog())}

    return read


def temporal_gauges(up: Callable[[], bool], queue: Callable[[], Awaitable[QueueFigures]] | None) -> Source:
    """Whether Temporal answers, and what waits for its workers; `queue` is not asked while it is away."""

    async def read() -> Readings:
        if not up():
            return {c.TEMPORAL_UP: 0}
        if queue is None:
            return {c.TEMPORAL_UP: 1}
        backlog, workers = await queue()
        return {c.TEMPORAL_UP: 1, c.TEMPORAL_BACKLOG: backlog, c.TEMPORAL_WORKERS: workers}

    return read
