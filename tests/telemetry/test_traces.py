from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

from lucius.core import commands as cmd
from lucius.telemetry.spans import parse, span_id_of
from lucius.telemetry.traces import (
    NoTraces,
    OpenTelemetryTraces,
    attempt_traceparent,
    open_traces,
    otlp_endpoint,
    well_formed,
)
from tests.telemetry.jobs import START, TRACEPARENT, Story, order, succeeded


class Kept:
    """Traces that stay in memory."""

    def __init__(self, ratio: float = 1.0) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(sampler=ParentBasedTraceIdRatio(ratio), shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.traces = OpenTelemetryTraces(self._provider)

    def spans(self) -> dict[str, ReadableSpan]:
        """Finished spans by name."""
        return {span.name: span for span in self._exporter.get_finished_spans()}

    def close(self) -> None:
        """End the provider."""
        self._provider.shutdown()


@pytest.fixture
def kept() -> Iterator[Kept]:
    """Tracing into memory."""
    made = Kept()
    yield made
    made.close()


def test_one_trace_from_client_to_step(kept: Kept) -> None:
    """Client, ingress, job and steps are one trace, each the child of the one before."""
    with kept.traces.ingress("POST", TRACEPARENT, lambda: "/v1/orchestrate") as traceparent:
        story = succeeded(traceparent=traceparent)
    kept.traces.observe_commit(story.changes)
    spans, client = kept.spans(), parse(TRACEPARENT)
    assert client is not None
    ingress, job = spans["POST /v1/orchestrate"], spans["job OCR_SIS"]
    assert {span.context.trace_id for span in spans.values()} == {client.trace_id}
    assert ingress.parent is not None
    assert ingress.parent.span_id == client.span_id
    assert job.parent is not None
    assert job.parent.span_id == ingress.context.span_id
    for name in ("step OCR", "step SIS"):
        parent = spans[name].parent
        assert parent is not None
        assert parent.span_id == job.context.span_id


def test_spans_have_the_times_of_the_events(kept: Kept) -> None:
    """A step's span runs from its attempt's commit to its result, whenever it is written."""
    kept.traces.observe_commit(succeeded(traceparent=TRACEPARENT).changes)
    ocr = kept.spans()["step OCR"]
    assert ocr.start_time == START * 1_000_000
    assert ocr.end_time == (START + 300) * 1_000_000
    assert ocr.attributes is not None
    assert ocr.attributes["lucius.jobId"] == "job-1"
    assert ocr.attributes["lucius.lease_id"] == "lease-0"


def test_steps_link_to_what_they_follow(kept: Kept) -> None:
    """A second attempt links to the first, and the next step to the attempt that let it start."""
    story = Story(order(traceparent=TRACEPARENT)).published("ocr").then(cmd.Tick(), 30_000)
    story.then(cmd.Tick(), 60_000).published("ocr").result("ocr").published("sis").result("sis")
    kept.traces.observe_commit(story.changes)
    spans = [span for span in kept._exporter.get_finished_spans() if span.name.startswith("step")]
    first, second, sis = spans
    assert first.status.description == "ACK_TIMEOUT"
    assert not first.links
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert [link.context.span_id for link in sis.links] == [second.context.span_id]


def test_a_directive_names_the_span_that_will_be_written(kept: Kept) -> None:
    """The parent a service gets is the attempt's span, known before it exists."""
    story = succeeded(traceparent=TRACEPARENT)
    carried = parse(attempt_traceparent(kept.traces, story.job, "ocr", 1))
    kept.traces.observe_commit(story.changes)
    assert carried is not None
    assert carried.span_id == kept.spans()["step OCR"].context.span_id == span_id_of("job-1", "ocr", 1)


def test_a_trace_the_client_does_not_keep_is_not_kept(kept: Kept) -> None:
    """Flag 00 is obeyed all the way down."""
    unsampled = TRACEPARENT[:-2] + "00"
    with kept.traces.ingress("POST", unsampled, lambda: "/x") as traceparent:
        assert traceparent is not None
        assert traceparent.endswith("-00")
    kept.traces.observe_commit(succeeded(traceparent=traceparent).changes)
    assert kept.spans() == {}


def test_without_a_traceparent_ingress_starts_a_trace(kept: Kept) -> None:
    """A client that does not trace still gets a trace of its own."""
    with kept.traces.ingress("POST", None, lambda: "/x") as traceparent:
        assert well_formed(traceparent) == traceparent
    (span,) = kept.spans().values()
    assert span.parent is None


def test_off_passes_the_clients_traceparent_on() -> None:
    """Lucius without tracing does not cut the traces of others."""
    traces = open_traces(None, version="1")
    assert isinstance(traces, NoTraces)
    assert traces.enabled is False
    with traces.ingress("POST", TRACEPARENT, lambda: "/x") as traceparent:
        assert traceparent == TRACEPARENT
    assert attempt_traceparent(traces, Story(order(traceparent=TRACEPARENT)).job, "ocr", 1) == TRACEPARENT


def test_off_does_not_load_the_sdk() -> None:
    """Who does not trace pays no memory for it."""
    code = (
        "import sys; from lucius.telemetry.traces import open_traces; from lucius.telemetry import observer;"
        "open_traces(None, version='1'); sys.exit(any(m.startswith('opentelemetry') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_on_opens_and_closes_with_nobody_listening() -> None:
    """A configured endpoint turns tracing on; closing with nothing to send does not need it."""
    traces = open_traces("http://127.0.0.1:9/v1/traces", version="1")
    assert traces.enabled
    await traces.close()


async def test_spans_arrive_at_a_real_endpoint() -> None:
    """What is configured as an endpoint gets the spans by OTLP over HTTP before close returns."""
    bodies: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base's name
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        traces = open_traces(otlp_endpoint(f"http://127.0.0.1:{server.server_port}", {}), version="1")
        traces.observe_commit(succeeded(traceparent=TRACEPARENT).changes)
        await traces.close()
        server.shutdown()
        thread.join()
    assert [path for path, _body in bodies] == ["/v1/traces"]
    assert b"job OCR_SIS" in bodies[0][1]


@pytest.mark.parametrize(
    ("setting", "environ", "expected"),
    [
        (None, {}, None),
        ("http://c:4318", {}, "http://c:4318/v1/traces"),
        ("http://c:4318/v1/traces", {}, "http://c:4318/v1/traces"),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://e:4318/"}, "http://e:4318/v1/traces"),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/x"}, "http://t/x"),
        ("http://c:4318", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/x"}, "http://c:4318/v1/traces"),
        ("http://c:4318", {"OTEL_SDK_DISABLED": "true"}, None),
    ],
)
def test_where_traces_go(setting: str | None, environ: dict[str, str], expected: str | None) -> None:
    """Our setting wins, then OpenTelemetry's variables, and its off switch beats both."""
    assert otlp_endpoint(setting, environ) == expected


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "x",
        TRACEPARENT.upper(),
        "ff" + TRACEPARENT[2:],
        TRACEPARENT[:-1],
        f"00-{'0' * 32}-b7ad6b7169203331-01",
    ],
)
def test_a_bad_traceparent_is_ignored(bad: str) -> None:
    """The standard asks to start anew rather than to guess."""
    assert well_formed(bad) is None
    assert parse(bad) is None
