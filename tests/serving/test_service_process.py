from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from lucius.telemetry.spans import parse, span_id_of
from lucius.testing.processes import HOST, Caller, Server, await_that
from lucius.testing.service_processes import ServiceProcess

TARGET = "tests.serving.counting:count"
PROTOCOL = """
request_type: WORD_COUNT
version: 1
steps:
  - {step_id: count, step_type: WORD_COUNT, service: counting, lease: 3s, execution_backoff: [50ms]}
"""
CLIENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Lucius that knows WORD_COUNT and has no services."""
    (tmp_path / "config" / "protocols").mkdir(parents=True)
    (tmp_path / "config" / "protocols" / "count.yaml").write_text(PROTOCOL)
    (tmp_path / "document.txt").write_text("one two three")
    options = ("--services", "none", "--config", str(tmp_path / "config"), "--files", str(tmp_path))
    with Server(tmp_path, *options) as server:
        server.start()
        yield server


def started(server: Server, tmp_path: Path, **environment: str) -> ServiceProcess:
    """A service process at this server."""
    return ServiceProcess(TARGET, f"http://{HOST}:{server.port}", tmp_path, environment=environment)


def submitted(caller: Caller, tmp_path: Path, **payload: Any) -> str:
    """A job for it."""
    body = {
        "tenant_id": "acme", "request_type": "WORD_COUNT", "schema_version": "1", "payload": payload,
        "input_ref": {"uri": (tmp_path / "document.txt").as_uri()},
        "output_ref": {"uri": (tmp_path / "out").as_uri()},
    }  # fmt: skip
    status, answer = caller.post("/v1/orchestrate", body, traceparent=CLIENT)
    assert status == 202, answer
    return str(answer["jobId"])


def state(caller: Caller, job_id: str) -> str:
    """Where the job stands."""
    return str(caller.get(f"/v1/jobs/{job_id}")[1]["state"])


def test_probes_tell_whether_it_lives_and_can_work(server: Server, tmp_path: Path) -> None:
    """Alive at once, ready once Lucius has answered, unready never a reason to be killed."""
    with started(server, tmp_path) as service, server.calling() as caller:
        service.await_ready()
        job_id = submitted(caller, tmp_path)
        await_that(lambda: state(caller, job_id) == "SUCCEEDED", "the job")
        assert service.probe("/healthz") == (200, "ok\n")
        assert service.metric("lucius_service_results_total") == 1
        assert service.probe("/nothing")[0] == 404
    with ServiceProcess(TARGET, f"http://{HOST}:9", tmp_path) as lonely:
        await_that(lambda: lonely.probe("/healthz")[0] == 200, "alive")
        assert lonely.probe("/readyz")[0] == 503


def test_sigterm_lets_the_running_work_finish(server: Server, tmp_path: Path) -> None:
    """Drain over real HTTP: the step under way succeeds at its first attempt, and the exit code is 0."""
    with started(server, tmp_path) as service, server.calling() as caller:
        service.await_ready()
        job_id = submitted(caller, tmp_path, seconds=1.5)
        await_that(lambda: service.metric("lucius_service_running") == 1, "the work begun")
        assert service.terminate() == 0
        job = caller.get(f"/v1/jobs/{job_id}")[1]
        assert (job["state"], job["steps"][0]["attempt_no"]) == ("SUCCEEDED", 1)


def test_work_that_outlasts_the_drain_goes_to_the_next_process(server: Server, tmp_path: Path) -> None:
    """A stop in a hurry costs an attempt, not the job."""
    with started(server, tmp_path, LUCIUS_SERVICE_DRAIN_SECONDS="0.1") as service, server.calling() as caller:
        service.await_ready()
        job_id = submitted(caller, tmp_path, seconds=2)
        await_that(lambda: service.metric("lucius_service_running") == 1, "the work begun")
        assert service.terminate() == 0
    with started(server, tmp_path), server.calling() as caller:
        await_that(lambda: state(caller, job_id) == "SUCCEEDED", "the job")
        events = caller.get(f"/v1/jobs/{job_id}/events")[1]["events"]
    assert "SERVICE_STOPPED" in json.dumps(events)
    assert [event["type"] for event in events].count("step.succeeded") == 1


def test_lucius_killed_while_a_service_works_changes_nothing_for_it(server: Server, tmp_path: Path) -> None:
    """The service goes on, Lucius comes back, the result of the first attempt counts."""
    with started(server, tmp_path) as service:
        with server.calling() as caller:
            service.await_ready()
            job_id = submitted(caller, tmp_path, seconds=1.5)
        await_that(lambda: service.metric("lucius_service_running") == 1, "the work begun")
        server.kill()
        server.start()
        with server.calling() as caller:
            await_that(lambda: state(caller, job_id) == "SUCCEEDED", "the job")
            events = caller.get(f"/v1/jobs/{job_id}/events")[1]["events"]
    assert [event["type"] for event in events].count("step.succeeded") == 1
    assert service.said().count("attempt ended") == 1


def test_a_second_signal_ends_it_at_once(server: Server, tmp_path: Path) -> None:
    """Who cannot wait asks twice."""
    with started(server, tmp_path) as service, server.calling() as caller:
        service.await_ready()
        submitted(caller, tmp_path, seconds=600)
        await_that(lambda: service.metric("lucius_service_running") == 1, "the work begun")
        service.process.send_signal(signal.SIGTERM)
        await_that(lambda: "stopping" in service.said(), "the first signal heeded")
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 143


def test_log_lines_carry_the_ids_and_no_token(server: Server, tmp_path: Path) -> None:
    """Every line about an attempt can be found by its job, and none shows a callback token."""
    with started(server, tmp_path) as service, server.calling() as caller:
        job_id = submitted(caller, tmp_path)
        await_that(lambda: "attempt ended" in service.said(), "the work")
        assert service.terminate() == 0
    lines = [json.loads(line) for line in service.said().splitlines()]
    (ended,) = [line for line in lines if line["event"] == "attempt ended"]
    assert (ended["jobId"], ended["stepId"], ended["tenant_id"], ended["attempt_no"]) == (
        job_id, "count", "acme", 1,
    )  # fmt: skip
    assert ended["lease_id"]
    assert "callback_token" not in service.said()


class Collector(BaseHTTPRequestHandler):
    """An OTLP collector: a double that keeps what real exporters send."""

    spans: list[Any]

    def do_POST(self) -> None:
        """Take spans."""
        request = ExportTraceServiceRequest()
        request.ParseFromString(self.rfile.read(int(self.headers["content-length"])))
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Quiet."""


def test_the_work_is_a_span_of_the_clients_trace(server: Server, tmp_path: Path) -> None:
    """One trace: the client's span, the attempt, and under it what the service did."""
    seen: list[Any] = []
    double = ThreadingHTTPServer((HOST, 0), type("Bound", (Collector,), {"spans": seen}))
    threading.Thread(target=double.serve_forever, daemon=True).start()
    endpoint = f"http://{HOST}:{double.server_port}"
    server.terminate()
    server._environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    server.start()
    try:
        with (
            started(server, tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint) as service,
            server.calling() as caller,
        ):
            job_id = submitted(caller, tmp_path)
            await_that(lambda: state(caller, job_id) == "SUCCEEDED", "the job")
            assert service.terminate() == 0
    finally:
        double.shutdown()
        double.server_close()
    (work,) = [span for span in seen if span.name == "WORD_COUNT execute"]
    client = parse(CLIENT)
    assert client is not None
    assert int.from_bytes(work.trace_id, "big") == client.trace_id
    assert int.from_bytes(work.parent_span_id, "big") == span_id_of(job_id, "count", 1)


def test_a_service_nobody_asked_for_waits_until_a_protocol_names_it(tmp_path: Path) -> None:
    """A step type that no protocol has yet is a matter of order, not an error; the log says what to do."""
    (tmp_path / "document.txt").write_text("one two three")
    (tmp_path / "config" / "protocols").mkdir(parents=True)
    options = ("--services", "none", "--config", str(tmp_path / "config"), "--files", str(tmp_path))
    with Server(tmp_path, *options) as server:
        server.start()
        with started(server, tmp_path) as service:
            await_that(lambda: "UNKNOWN_STEP_TYPE" in service.said(), "the service being told")
            (tmp_path / "config" / "protocols" / "count.yaml").write_text(PROTOCOL)
            service.await_ready()
            with server.calling() as caller:
                job_id = submitted(caller, tmp_path)
                await_that(lambda: state(caller, job_id) == "SUCCEEDED", "the job")


def test_a_wrong_key_is_told_in_one_line_and_ends_the_process(server: Server, tmp_path: Path) -> None:
    """A credential that is refused stays refused: exit code 1, and no traceback."""
    with started(server, tmp_path, LUCIUS_API_KEY="lk_wrong") as service:
        assert service.process.wait(60) == 1
    assert "the service cannot go on" in service.said()
    assert "Traceback" not in service.said()


CHILD = """
import os, subprocess, sys
from lucius.sdk.serving import run as module
from tests.serving.counting import count

async def serve(service, settings, *, until_eof):
    look = [sys.executable, "-c", "import os; print(*os.environ)"]
    shown = subprocess.run(look, stdout=subprocess.PIPE, check=True)
    print(settings.key.get_secret_value(), "LUCIUS_API_KEY" in shown.stdout.decode().split())

module._serve_and_leave = serve
module.run(count)
"""


def test_the_key_of_a_service_does_not_reach_the_processes_that_parse(tmp_path: Path) -> None:
    """What reads hostile documents has nothing to steal: the key leaves the environment at the start."""
    environment = {**os.environ, "LUCIUS_API_KEY": "lk_secret"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD], env=environment, stdout=subprocess.PIPE, check=True, timeout=60
    )
    assert done.stdout.split() == [b"lk_secret", b"False"]
