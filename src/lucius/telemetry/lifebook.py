"""The watch of lifebook runs: counts always, traces where tracing is on. See `lifebook.ports.watching`.

It neither raises nor waits. What it tells is bounded: names of workflows, statuses, codes, ids in spans.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING

from lucius.errors import Unavailable
from lucius.telemetry import catalogue as c
from lucius.telemetry.traces import OpenTelemetryTraces

if TYPE_CHECKING:
    from lucius.lifebook.core.run import Run
    from lucius.lifebook.ports.queue import RunQueue
    from lucius.lifebook.ports.store import RunStore
    from lucius.telemetry.gauges import Readings, Source
    from lucius.telemetry.lifebook_counts import RunCounts
    from lucius.telemetry.lifebook_spans import RunSpans
    from lucius.telemetry.traces import Traces


class RunWatch:
    """Counts and traces what happens to runs in this process."""

    def __init__(self, counts: RunCounts, traces: Traces) -> None:
        self._counts = counts
        self._spans = _spans(traces)
        self.changed = counts.changed
        self.refused = counts.refused
        self.waited = counts.waited
        self.missed = counts.missed

    @contextmanager
    def creating(self, run: Run) -> Iterator[Callable[[Run, bool], None]]:
        """Round the write of a new record."""
        with self._spans.creating(run) if self._spans else nullcontext(_nothing) as trace:

            def told(made: Run, fresh: bool) -> None:  # noqa: FBT001 - the port's signature
                self._counts.created(made, fresh=fresh)
                trace(made, fresh)

            yield told

    def attempt(self, run: Run) -> AbstractContextManager[Callable[[Run], None]]:
        """Round all that is done for a run that is held."""
        return self._spans.attempt(run) if self._spans else nullcontext(_nothing)

    @contextmanager
    def step(self, run: Run, step: str) -> Iterator[Callable[[str, str | None], None]]:
        """Round the work of a step."""
        began = perf_counter()
        with self._spans.step(run, step) if self._spans else nullcontext(_nothing) as trace:

            def told(outcome: str, code: str | None) -> None:
                self._counts.step(run.workflow_id, outcome, perf_counter() - began)
                trace(outcome, code)

            yield told


PATIENCE = 1.5
"""Seconds; less than a scrape has, so that silence is told as what it is and does not hide the number."""


def lifebook_gauges(
    store: RunStore,
    queue: RunQueue,
    dead: RunQueue,
    *,
    clock: Callable[[], int],
    patience: float = PATIENCE,
) -> Source:
    """What waits, asked at each scrape; while store or queue are away or silent, that alone."""

    async def read() -> Readings:
        try:
            async with asyncio.timeout(patience):
                work, letters, overdue = await queue.depth(), await dead.depth(), await store.due(clock(), 1)
        except (Unavailable, TimeoutError):
            return {c.LIFEBOOK_UP: 0}
        late = max((clock() - (run.due_at or 0)) / 1000 for run in overdue) if overdue else 0.0
        return {
            c.LIFEBOOK_UP: 1,
            c.LIFEBOOK_QUEUE: {"visible": work.visible, "hidden": work.hidden},
            c.LIFEBOOK_DEAD_LETTERS: letters.visible + letters.hidden,
            c.LIFEBOOK_OVERDUE: max(late, 0.0),
        }

    return read


def _spans(traces: Traces) -> RunSpans | None:
    if not isinstance(traces, OpenTelemetryTraces):
        return None
    from lucius.telemetry.lifebook_spans import RunSpans  # noqa: PLC0415 the SDK loads only when asked for

    return RunSpans(traces)


def _nothing(*_told: object) -> None:
    """Tracing is off."""
