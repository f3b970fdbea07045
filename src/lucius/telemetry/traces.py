"""Traces, off unless an OTLP endpoint is configured.

    client's span ─▶ ingress (POST …) ─▶ job ─▶ step attempt, step attempt, …
                     stored in order.traceparent, carried by each directive

The job and its attempts are written after the fact, from committed events, so no span is held in
memory while a job runs and a restart loses none that ends later. That works because their ids are
computed: the same job and attempt always give the same span id, so a child can name its parent
before the parent is written, and a link can name an attempt that ended in another process.

Failure: spans go to a bounded queue; when the collector is away they are dropped, never waited for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

    from lucius.core.job import Job
    from lucius.telemetry.commits import Change

#: W3C Trace Context: version, trace id, parent id, flags; later versions may append.
TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?"
)


class Traces(Protocol):
    """What the rest of Lucius knows of tracing."""

    enabled: bool

    def ingress(
        self, name: str, traceparent: str | None, route: Callable[[], str]
    ) -> AbstractContextManager[str | None]:
        """A span round the handling of a request; gives the traceparent to store in the order.

        `route` is asked at the end, when the router has chosen.
        """
        ...

    @property
    def tracer(self) -> Tracer | None:
        """For libraries that write spans of their own; None: tracing is off."""
        ...

    def below(self, traceparent: str | None) -> AbstractContextManager[None]:
        """Spans that start inside hang below this one, unless one of the same trace is at work here."""
        ...

    def current(self) -> bool:
        """Whether some span is at work here."""
        ...

    def observe_commit(self, changes: Iterable[Change]) -> None:
        """Write the spans that these commits ended."""
        ...

    async def flush(self, seconds: float) -> None:
        """Send what waits, as far as it can be done in so many seconds."""
        ...

    async def close(self) -> None:
        """Send what waits."""
        ...


class NoTraces:
    """Tracing that is off: a client's traceparent passes through untouched."""

    enabled = False

    def ingress(
        self,
        name: str,  # noqa: ARG002 the port's signature
        traceparent: str | None,
        route: Callable[[], str],  # noqa: ARG002 as above
    ) -> AbstractContextManager[str | None]:
        """Nothing but the traceparent that came."""
        return nullcontext(traceparent)

    tracer = None

    def below(self, traceparent: str | None) -> AbstractContextManager[None]:  # noqa: ARG002 as above
        """Nothing."""
        return nullcontext()

    def current(self) -> bool:
        """There is none."""
        return False

    def observe_commit(self, changes: Iterable[Change]) -> None:
        """Nothing."""

    async def flush(self, seconds: float) -> None:
        """Nothing."""

    async def close(self) -> None:
        """Nothing."""


class OpenTelemetryTraces:
    """Tracing through a provider of our own; nothing global is touched."""

    enabled = True

    def __init__(self, provider: TracerProvider) -> None:
        from lucius.telemetry.spans import CommitSpans, OwnIds  # noqa: PLC0415 the SDK loads only when asked for

        provider.id_generator = self._ids = self.ids = OwnIds()
        self._provider = provider
        self._tracer = provider.get_tracer("lucius")
        self._spans = CommitSpans(self._tracer, self._ids)

    @contextmanager
    def ingress(self, name: str, traceparent: str | None, route: Callable[[], str]) -> Iterator[str | None]:
        """A server span, child of the client's if it sent a good traceparent."""
        from opentelemetry.trace import SpanKind, use_span  # noqa: PLC0415 as above

        from lucius.telemetry.spans import context_of, traceparent_of  # noqa: PLC0415 as above

        attributes = {"http.request.method": name}
        span = self._tracer.start_span(
            name, context_of(traceparent), kind=SpanKind.SERVER, attributes=attributes
        )
        with use_span(span, end_on_exit=True):
            try:
                yield traceparent_of(span.get_span_context())
            finally:
                span.update_name(f"{name} {route()}")
                span.set_attribute("http.route", route())

    @property
    def tracer(self) -> Tracer:
        """Writes to the same provider."""
        from lucius.telemetry.moments import MomentTracer  # noqa: PLC0415 as above

        return MomentTracer(self._tracer, self._ids)

    def below(self, traceparent: str | None) -> AbstractContextManager[None]:
        """A parent for what starts inside, if nothing of its trace is at work already."""
        from lucius.telemetry.spans import below  # noqa: PLC0415 as above

        return below(traceparent)

    def current(self) -> bool:
        """Whether some span is at work here."""
        from opentelemetry.trace import get_current_span  # noqa: PLC0415 as above

        return get_current_span().get_span_context().is_valid

    def observe_commit(self, changes: Iterable[Change]) -> None:
        """Write the spans of attempts and jobs that ended."""
        self._spans.observe(changes)

    async def flush(self, seconds: float) -> None:
        """Send what waits, for no longer than so many seconds: for processes frozen between calls."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.to_thread(self._provider.force_flush, round(seconds * 1000))

    async def close(self) -> None:
        """Send what waits; off the event loop, because the exporter blocks."""
        await asyncio.to_thread(self._provider.shutdown)


def well_formed(traceparent: str | None) -> str | None:
    """The traceparent if it is one, else None: a bad one is ignored, as the standard asks."""
    return traceparent if traceparent and TRACEPARENT.fullmatch(traceparent) else None


def attempt_traceparent(traces: Traces, job: Job, step_id: str, attempt_no: int) -> str | None:
    """What a directive carries: the attempt's own span when tracing is on, else the order's as it came."""
    if not traces.enabled:
        return job.order.traceparent
    from lucius.telemetry.spans import attempt_parent  # noqa: PLC0415 as above

    return attempt_parent(job, step_id, attempt_no)


def within(
    traces: Traces, job: Job, step_id: str | None = None, attempt_no: int = 0
) -> AbstractContextManager[None]:
    """What is done for a job, in its trace: below the attempt it concerns, or below the order."""
    if not traces.enabled:
        return nullcontext()
    if step_id is None:
        return traces.below(job.order.traceparent)
    return traces.below(attempt_traceparent(traces, job, step_id, attempt_no))


def otlp_endpoint(setting: str | None, environ: Mapping[str, str]) -> str | None:
    """Where traces go: our setting, then OpenTelemetry's own variables; None means off."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if traces := environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") if not setting else None:
        return traces
    base = setting or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if not base:
        return None
    return base if base.rstrip("/").endswith("/v1/traces") else base.rstrip("/") + "/v1/traces"


def open_traces(endpoint: str | None, *, version: str, name: str = "lucius", ratio: float = 1.0) -> Traces:
    """Tracing to this endpoint (OTLP over HTTP), or none. `ratio` of new traces are kept."""
    if endpoint is None:
        return NoTraces()
    return OpenTelemetryTraces(open_provider(endpoint, name=name, version=version, ratio=ratio))


def open_provider(endpoint: str, *, name: str, version: str, ratio: float = 1.0) -> TracerProvider:
    """A provider of our own that sends to this endpoint; `name` is the service's in the traces."""
    # The SDK costs memory and start-up time that only who traces should pay.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio  # noqa: PLC0415

    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": version}),
        sampler=ParentBasedTraceIdRatio(ratio),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider
