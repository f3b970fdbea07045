"""Spans of moments in a workflow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link

from lucius.telemetry import moments
from lucius.telemetry.spans import context_of, parse
from lucius.telemetry.traces import OpenTelemetryTraces
from tests.telemetry.jobs import TRACEPARENT


class Written:
    """A tracer, and the names of what it wrote."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._tracer = OpenTelemetryTraces(self._provider).tracer

    def moment(self, name: str, *, at: int = 1, link: str | None = None, run: str = "run-1") -> int:
        """A moment comes to pass; the id of its span."""
        followed = parse(link)
        span = self._tracer.start_span(
            name, context_of(TRACEPARENT), attributes={moments.RUN: run}, start_time=at,
            links=[Link(followed)] if followed else [],
        )  # fmt: skip
        span.end(at)
        return span.get_span_context().span_id

    def names(self) -> list[str]:
        """In the order of writing."""
        return [span.name for span in self._exporter.get_finished_spans()]

    def close(self) -> None:
        """End the provider."""
        self._provider.shutdown()


@pytest.fixture
def written() -> Iterator[Written]:
    """Nothing yet."""
    made = Written()
    yield made
    made.close()


def test_a_moment_that_is_run_again_is_written_once(written: Written) -> None:
    """A task that Temporal did not take is run again at another time, and leaves one span with one id."""
    other = TRACEPARENT.replace("b7ad", "c7ad")
    first = written.moment("CompleteWorkflow:LuciusJob", at=1)
    assert written.moment("CompleteWorkflow:LuciusJob", at=2) == first
    told = written.moment("HandleSignal:step_ack", at=1, link=TRACEPARENT)
    assert written.moment("HandleSignal:step_ack", at=2, link=TRACEPARENT) == told
    assert written.moment("HandleSignal:step_ack", at=2, link=other) != told
    assert written.names() == ["CompleteWorkflow:LuciusJob", "HandleSignal:step_ack", "HandleSignal:step_ack"]


def test_moments_of_other_runs_and_nudges_are_others(written: Written) -> None:
    """Each run has moments of its own, and one nudge after the other is two."""
    assert written.moment("RunWorkflow:LuciusJob") != written.moment("RunWorkflow:LuciusJob", run="run-2")
    assert written.moment("HandleSignal:nudge", at=1) != written.moment("HandleSignal:nudge", at=2)
    assert len(written.names()) == 4


def test_what_is_remembered_is_bounded(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that runs for years remembers the last moments only."""
    monkeypatch.setattr(moments, "KEPT", 2)
    for run in ("1", "2", "3", "3", "1"):
        written.moment("RunWorkflow:LuciusJob", run=run)
    assert len(written.names()) == 4
