"""Spans of lifebook runs. Only loaded when tracing is on.

    client's span ─▶ POST /v1/lifebook/jobs ─▶ run nightly-summary ─┬▶ attempt ─┬▶ step fetch
                                                  (API, trigger)    │ (worker)  └▶ step summarise
                                                                    └▶ attempt ─▶ step summarise

A run remembers its trace and nothing else of it. The span of its creation has an id that is computed from
the run's, so that a worker, wherever it is, knows what its attempts hang below. A worker that is lost takes
the span of its attempt with it; the steps it finished are told. Whether a client wanted its trace kept is
not remembered: attempts are kept wherever tracing is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_TRACE_ID,
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    get_current_span,
    set_span_in_context,
    use_span,
)

from lucius.telemetry.spans import span_id_of

if TYPE_CHECKING:
    from lucius.lifebook.core.run import Run
    from lucius.telemetry.traces import OpenTelemetryTraces

_HEX, _DIGITS = 16, 32
_FAILED = ("failed", "dead")


class RunSpans:
    """Writes the spans of runs through a provider of ours."""

    def __init__(self, traces: OpenTelemetryTraces) -> None:
        self._tracer = traces.tracer
        self._ids = traces.ids

    @contextmanager
    def creating(self, run: Run) -> Iterator[Callable[[Run, bool], None]]:
        """Below the request, if that is of the same trace; else the first span of the run's own trace."""
        above, trace_id = get_current_span().get_span_context(), _trace_of(run)
        same = above.is_valid and above.trace_id == trace_id
        self._ids.follow(_span_of(run), trace_id)
        span = self._tracer.start_span(
            f"run {run.workflow_id}",
            None if same else Context(),
            links=[Link(above)] if above.is_valid and not same else None,
            attributes=_attributes(run),
        )

        def told(made: Run, fresh: bool) -> None:  # noqa: FBT001 - the port's signature
            span.set_attributes({"lifebook.job_id": made.job_id, "lifebook.fresh": fresh})

        with _at_work(span):
            yield told

    @contextmanager
    def attempt(self, run: Run) -> Iterator[Callable[[Run], None]]:
        """Below the creation of the run, wherever that was."""
        parent = SpanContext(
            _trace_of(run), _span_of(run), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
        )
        span = self._tracer.start_span(
            f"attempt {run.workflow_id}",
            set_span_in_context(NonRecordingSpan(parent), Context()),
            kind=SpanKind.CONSUMER,
            attributes=_attributes(run) | {"lifebook.attempt": run.attempts},
        )

        def told(after: Run) -> None:
            span.set_attributes(
                {"lifebook.status": after.status.value, "lifebook.step_cursor": after.step_cursor}
            )
            if after.status.value in _FAILED:
                span.set_status(Status(StatusCode.ERROR, after.last_error_code))

        with _at_work(span):
            yield told

    @contextmanager
    def step(self, run: Run, step: str) -> Iterator[Callable[[str, str | None], None]]:
        """Below the attempt that is at work here; what the step traces itself lies below it."""
        attributes = _attributes(run) | {"lifebook.attempt": run.attempts, "lifebook.step": step}
        span = self._tracer.start_span(f"step {step}", attributes=attributes)

        def told(outcome: str, code: str | None) -> None:
            span.set_attribute("lifebook.outcome", outcome)
            if code is not None:
                span.set_status(Status(StatusCode.ERROR, code))

        with _at_work(span):
            yield told


def _at_work(span: Span) -> AbstractContextManager[Span]:
    # What an error says may repeat an input: its code is told, its words are not.
    return use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False)


def _attributes(run: Run) -> dict[str, str | int]:
    return {
        "lifebook.job_id": run.job_id,
        "lifebook.workspace_id": run.workspace_id,
        "lifebook.workflow_id": run.workflow_id,
        "lifebook.trigger_type": run.trigger_type.value,
    }


def _trace_of(run: Run) -> int:
    """The run's trace; for an item of somebody who writes it otherwise, one that is computed."""
    try:
        number = int(run.trace_id, _HEX) if len(run.trace_id) == _DIGITS else INVALID_TRACE_ID
    except ValueError:
        number = INVALID_TRACE_ID
    return number or (span_id_of("trace", run.job_id) << 64 | span_id_of("run", run.job_id))


def _span_of(run: Run) -> int:
    return span_id_of("lifebook", run.job_id)
