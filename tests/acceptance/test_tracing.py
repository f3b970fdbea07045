"""Traces through a real process."""

from __future__ import annotations

from pathlib import Path

from lucius.telemetry.spans import parse, span_id_of
from lucius.testing.processes import Server

CLIENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
NOWHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
BODY = {
    "tenant_id": "acme", "request_type": "OCR", "schema_version": "1", "payload": {},
    "input_ref": {"uri": "s3://b/in.pdf"}, "output_ref": {"uri": "s3://b/out/"},
}  # fmt: skip


def carried(server: Server) -> tuple[str, str]:
    """A new job's id, and the traceparent its first directive carries."""
    with server.calling() as caller:
        _, job = caller.post("/v1/orchestrate", BODY, traceparent=CLIENT)
        _, taken = caller.post("/v1/directives:receive", {"step_types": ["OCR"], "wait_seconds": 30})
    return job["jobId"], taken["directives"][0]["directive"]["traceparent"]


def test_a_service_is_told_the_span_of_its_attempt(tmp_path: Path) -> None:
    """With tracing on, a directive names the attempt's own span, in the client's trace."""
    with Server(tmp_path, "--services", "none", environment=NOWHERE) as server:
        server.start()
        job_id, traceparent = carried(server)
    span, client = parse(traceparent), parse(CLIENT)
    assert span is not None
    assert client is not None
    assert (span.trace_id, span.span_id) == (client.trace_id, span_id_of(job_id, "ocr", 1))


def test_without_tracing_the_clients_span_reaches_the_service(tmp_path: Path) -> None:
    """A Lucius that does not trace passes the client's traceparent on untouched."""
    with Server(tmp_path, "--services", "none") as server:
        server.start()
        assert carried(server)[1] == CLIENT
