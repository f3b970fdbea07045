"""Spans of lifebook runs: those that no request began, those that fail, those of processes that freeze."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lucius.lifebook.core import commands as cmd
from lucius.telemetry.lifebook import RunWatch
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.traces import OpenTelemetryTraces, open_traces
from lucius.testing.lifebook.runs import decided, new_run, taken
from tests.telemetry.collector import collecting


class Kept:
    """A watch whose spans stay here."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.traces = OpenTelemetryTraces(provider)
        self.watch = RunWatch(Metrics(clock=lambda: 0, version="test").runs, self.traces)

    def spans(self) -> dict[str, ReadableSpan]:
        """What was written, by name."""
        return {span.name: span for span in self._exporter.get_finished_spans()}


@pytest.fixture
def kept() -> Kept:
    """A watch of its own for each test."""
    return Kept()


def _trace(span: ReadableSpan) -> str:
    return f"{span.context.trace_id:032x}"


def test_a_run_that_no_request_began_has_the_trace_of_its_own_id(kept: Kept) -> None:
    """A schedule's run is the first span of the trace that its record names; its attempts hang below it."""
    run = new_run()
    with kept.watch.creating(run) as told:
        told(run, True)
    with kept.watch.attempt(taken(run).run) as ended, kept.watch.step(run, "step-1"):
        ended(run)
    spans = kept.spans()
    root, attempt, step = (spans[name] for name in ("run nightly", "attempt nightly", "step step-1"))
    assert root.parent is None
    assert {_trace(span) for span in spans.values()} == {run.trace_id}
    assert [span.parent and span.parent.span_id for span in (attempt, step)] == [
        root.context.span_id,
        attempt.context.span_id,
    ]


def test_a_request_of_another_trace_is_linked(kept: Kept) -> None:
    """A run that is made on behalf of a request outside its trace says by which one."""
    run = new_run()
    with kept.traces.ingress("POST", None, lambda: "/v1/hooks"), kept.watch.creating(run) as told:
        told(run, True)
    spans = kept.spans()
    made, request = spans["run nightly"], spans["POST /v1/hooks"]
    assert _trace(made) == run.trace_id != _trace(request)
    assert [link.context.span_id for link in made.links] == [request.context.span_id]


def test_a_span_that_follows_is_of_no_foreign_trace(kept: Kept) -> None:
    """The id that was meant for a run's trace is not given to the next trace that begins."""
    run = new_run()
    parent = f"00-{run.trace_id}-{1:016x}-01"
    with kept.traces.ingress("POST", parent, lambda: "/jobs"), kept.watch.creating(run) as told:
        told(run, True)
    with kept.traces.ingress("POST", None, lambda: "/later"):
        pass
    spans = kept.spans()
    assert _trace(spans["run nightly"]) == run.trace_id
    assert _trace(spans["POST /later"]) != run.trace_id


def test_a_failed_attempt_says_its_code_and_no_words(kept: Kept) -> None:
    """Status and code of a failure are on its spans; the message of the error is not."""
    run = taken(new_run()).run
    failed = decided(run, cmd.Fail(token="token", code="NO_LUCK", message="secret words", spread=0.5)).run

    def fail() -> None:
        with kept.watch.attempt(run) as ended, kept.watch.step(run, "s") as told:
            told("failed", "NO_LUCK")
            ended(failed)
            raise LookupError("secret words")

    with pytest.raises(LookupError):
        fail()
    for span in kept.spans().values():
        assert span.status.description == "NO_LUCK"
        assert "secret words" not in span.to_json()


def test_an_item_with_a_trace_id_of_another_kind_is_traced_all_the_same(kept: Kept) -> None:
    """What somebody else wrote as a trace id breaks nothing: the run has a trace that follows from its id."""
    run = taken(new_run(trace_id="Root=1-67891233-abcdef")).run
    for _ in range(2):
        with kept.watch.attempt(run) as ended:
            ended(run)
    assert len({_trace(span) for span in kept.spans().values()}) == 1


async def test_spans_are_sent_before_a_process_is_frozen() -> None:
    """`flush` sends what waits, and the process may go on to write spans."""
    with collecting() as collector:
        traces = open_traces(collector.endpoint, version="test", name="lambda")
        watch = RunWatch(Metrics(clock=lambda: 0, version="test").runs, traces)
        run = taken(new_run()).run
        with watch.attempt(run) as ended:
            ended(run)
        await traces.flush(10)
        assert collector.names() == {"attempt nightly": 1}
        await traces.close()
