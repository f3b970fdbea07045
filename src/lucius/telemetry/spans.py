"""Spans of jobs and attempts, written when they end. Only loaded when tracing is on.

Span ids are hashes of what they stand for, so parents and links need no memory (see `traces`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from opentelemetry.context import Context, attach, detach
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    get_current_span,
    set_span_in_context,
)

from lucius.core import events as e
from lucius.core.job import Job
from lucius.telemetry.commits import Change
from lucius.telemetry.traces import TRACEPARENT

_MS = 1_000_000


class OwnIds(RandomIdGenerator):
    """Random ids, unless somebody has just said which span id comes next."""

    def __init__(self) -> None:
        self._asked = threading.local()  # requests may start spans in one thread, commits in another

    def follow(self, span_id: int, trace_id: int | None = None) -> None:
        """Give this id to the next span that this thread starts; and the trace this one, if it begins one."""
        self._asked.span_id = span_id
        self._asked.trace_id = trace_id

    def generate_trace_id(self) -> int:
        """The id that was set for the next span; else a random one."""
        given: int | None = self._asked.__dict__.pop("trace_id", None)
        return given or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """The id that was set, once; else a random one."""
        self._asked.__dict__.pop("trace_id", None)  # it was for this span, which has a trace by now
        given: int | None = self._asked.__dict__.pop("span_id", None)
        return given or super().generate_span_id()


def span_id_of(*names: object) -> int:
    """The span id of a thing that these names identify."""
    return int.from_bytes(blake2b("\x1f".join(map(str, names)).encode(), digest_size=8).digest()) or 1


def parse(traceparent: str | None) -> SpanContext | None:
    """The span a W3C traceparent names; None for a bad one, as the standard asks."""
    found = TRACEPARENT.fullmatch(traceparent) if traceparent else None
    if found is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))


def context_of(traceparent: str | None) -> Context:
    """An OpenTelemetry context with that parent, or an empty one."""
    parent = parse(traceparent)
    return set_span_in_context(NonRecordingSpan(parent), Context()) if parent else Context()


def traceparent_of(span: SpanContext) -> str:
    """The W3C traceparent of a span."""
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


@contextmanager
def below(traceparent: str | None) -> Iterator[None]:
    """Spans that start inside are children of this one, unless one of the same trace is at work here."""
    parent = parse(traceparent)
    if parent is None or get_current_span().get_span_context().trace_id == parent.trace_id:
        yield
        return
    token = attach(set_span_in_context(NonRecordingSpan(parent)))
    try:
        yield
    finally:
        detach(token)


def attempt_parent(job: Job, step_id: str, attempt_no: int) -> str | None:
    """The traceparent of an attempt's span, which will be written when the attempt ends."""
    parent = parse(job.order.traceparent)
    if parent is None:
        return job.order.traceparent
    return traceparent_of(_beside(parent, span_id_of(job.job_id, step_id, attempt_no)))


def _beside(span: SpanContext, span_id: int) -> SpanContext:
    return SpanContext(span.trace_id, span_id, is_remote=True, trace_flags=span.trace_flags)


class CommitSpans:
    """Writes spans from committed events. One thread at a time."""

    def __init__(self, tracer: Tracer, ids: OwnIds) -> None:
        self._tracer = tracer
        self._ids = ids
        self._writers: dict[type[e.Event], Callable[[Job, Any, SpanContext], None]] = {
            e.StepSucceeded: self._attempt,
            e.StepRetryScheduled: self._attempt,
            e.StepFailed: self._attempt,
            e.JobSucceeded: self._job,
            e.JobFailed: self._job,
            e.JobCancelled: self._job,
        }

    def observe(self, changes: Iterable[Change]) -> None:
        """One span for each attempt and each job that ended, if its trace is kept."""
        for job, events in changes:
            for event in events:
                write = self._writers.get(type(event))
                if write is not None:
                    order_span = parse(job.order.traceparent)
                    if order_span is not None and order_span.trace_flags & TraceFlags.SAMPLED:
                        write(job, event, order_span)

    def _job(self, job: Job, event: e.Event, order_span: SpanContext) -> None:
        attributes = {
            "lucius.request_type": job.order.protocol.request_type,
            "lucius.state": job.state.value,
            "lucius.lane": job.order.routing.lane,
        }
        self._write(
            job, f"job {job.order.protocol.request_type}", order_span, span_id_of(job.job_id),
            (job.order.accepted_at, event.at), attributes, getattr(event, "error", None), [],
        )  # fmt: skip

    def _attempt(self, job: Job, event: e.StepEvent, order_span: SpanContext) -> None:
        step = job.step(event.step_id)
        if step is None or step.attempt is None or step.attempt.attempt_no != event.attempt_no:
            return
        recipe = job.order.protocol.steps[step.index]
        attributes: dict[str, str | int] = {
            "lucius.step_id": step.step_id,
            "lucius.step_type": recipe.step_type,
            "lucius.service": recipe.service,
            "lucius.attempt_no": event.attempt_no,
            "lucius.lease_id": step.attempt.lease_id,
        }
        for name in ("published_at", "acked_at"):
            if (at := getattr(step.attempt, name)) is not None:
                attributes[f"lucius.{name}"] = at
        self._write(
            job, f"step {recipe.step_type}", _beside(order_span, span_id_of(job.job_id)),
            span_id_of(job.job_id, step.step_id, event.attempt_no),
            (step.attempt.created_at, event.at), attributes, getattr(event, "error", None),
            _links(job, step.index, event.attempt_no, order_span),
        )  # fmt: skip

    def _write(  # noqa: PLR0917 private: one call for each kind of span
        self, job: Job, name: str, parent: SpanContext, span_id: int, times: tuple[int, int],
        attributes: dict[str, str | int], error: Any, links: list[Link],
    ) -> None:  # fmt: skip
        attributes |= {"lucius.jobId": job.job_id, "lucius.tenant_id": job.order.tenant_id}
        if job.order.correlation_id:
            attributes["lucius.correlation_id"] = job.order.correlation_id
        self._ids.follow(span_id)
        span = self._tracer.start_span(
            name,
            set_span_in_context(NonRecordingSpan(parent), Context()),
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            links=links,
            start_time=times[0] * _MS,
        )
        if error is not None:
            span.set_status(Status(StatusCode.ERROR, error.code))
        span.end(times[1] * _MS)


def _links(job: Job, index: int, attempt_no: int, order_span: SpanContext) -> list[Link]:
    """What this attempt follows: the attempt before it, or the one that ended the step before."""
    if attempt_no > 1:
        before = _beside(order_span, span_id_of(job.job_id, job.steps[index].step_id, attempt_no - 1))
        return [Link(before, {"lucius.link": "retry_of"})]
    previous = job.steps[index - 1] if index else None
    if previous is None or previous.attempt is None:
        return []
    span_id = span_id_of(job.job_id, previous.step_id, previous.attempt.attempt_no)
    return [Link(_beside(order_span, span_id), {"lucius.link": "follows"})]
