"""One run through two processes, `lucius up` and `lucius lifebook worker`: its trace and its lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lucius.testing.processes import Server, await_that
from tests.lifebook.observed_flows import CANARIES, CUSTOMER, PASSWORD
from tests.telemetry.collector import Collector, Seen, collecting

ROOT = Path(__file__).parents[2]
TRACE = "0af7651916cd43dd8448eb211c80319c"
CLIENT = "b7ad6b7169203331"


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a run left behind."""

    run: dict[str, Any]
    spans: list[Seen]
    raw: bytes
    worker: list[dict[str, Any]]
    said: str
    """Everything that both processes wrote."""
    metrics: str


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Left]:
    """A run that failed twice, and all that was told of it."""
    home = tmp_path_factory.mktemp("observed")
    with collecting() as collector:
        bodies = _kept(collector)
        environment = {
            "LUCIUS_LIFEBOOK_WORKFLOWS": "tests.lifebook.observed_flows:registry",
            "LUCIUS_LIFEBOOK_BACKOFF_SECONDS": "0.05",
            "LUCIUS_LIFEBOOK_CONCURRENCY": "0",
            "LUCIUS_LOG_LEVEL": "debug",
            "LUCIUS_LOG_STYLE": "json",
            "LUCIUS_OTLP_ENDPOINT": collector.endpoint,
            "PYTHONPATH": str(ROOT),
        }
        with Server(home, environment=environment) as server:
            server.start()
            log = home / "worker.log"
            worker = _worker(server.data, log, environment)
            try:
                run = _run(server)
            finally:
                worker.terminate()
                assert worker.wait(30) == 0, log.read_text()
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
                metrics = answer.read().decode()
            server.terminate()
            lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
            yield Left(
                run=run, spans=collector.spans, raw=b"".join(bodies), worker=lines,
                said=server.said() + log.read_text(), metrics=metrics,
            )  # fmt: skip


def _kept(collector: Collector) -> list[bytes]:
    bodies: list[bytes] = []
    take = collector.take

    def both(body: bytes) -> None:
        bodies.append(body)
        take(body)

    collector.take = both  # type: ignore[method-assign]
    return bodies


def _worker(data: Path, log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "lucius.entrypoints.cli", "lifebook", "worker", "--data", str(data)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=inherited | environment,
        )  # fmt: skip


def _run(server: Server) -> dict[str, Any]:
    request = {
        "workspace_id": "acme",
        "user_id": "ada",
        "workflow_id": "leaky",
        "input": {"customer": CUSTOMER, "password": PASSWORD},
    }
    with server.calling() as caller:
        status, made = caller.post("/v1/lifebook/jobs", request, traceparent=f"00-{TRACE}-{CLIENT}-01")
        assert status == 201, made
        path = f"/v1/lifebook/jobs/{made['job_id']}"
        await_that(lambda: caller.get(path)[1]["status"] == "completed", "the run to complete", 30)
        return dict(caller.get(path)[1])


def test_one_trace_tells_the_whole_run(left: Left) -> None:
    """The client's trace has the request, the run, each attempt and each step, from both processes."""
    spans = {span.span_id: span for span in left.spans if span.trace_id == TRACE}
    assert left.run["trace_id"] == TRACE

    def tree(parent: str, service: str) -> list[tuple[str, str]]:
        below = [span for span in spans.values() if span.parent_id == parent]
        return [(span.span_id, span.name) for span in below if span.service == service]

    [(request, name)] = tree(CLIENT, "lucius")
    assert name == "POST /v1/lifebook/jobs"
    [(run, name)] = tree(request, "lucius")
    assert name == "run leaky"
    attempts = tree(run, "lucius-lifebook-worker")
    assert [name for _, name in attempts] == ["attempt leaky"] * 3
    steps = [[name for _, name in tree(attempt, "lucius-lifebook-worker")] for attempt, _ in attempts]
    assert steps == [["step fetch", "step charge"], ["step charge"], ["step charge", "step publish"]]


def test_every_line_of_the_worker_says_which_run_it_is_about(left: Left) -> None:
    """Lines about a run carry its ids and the attempt; lines about a step its name, from threads too."""
    whose = {"job_id": left.run["job_id"], "workspace_id": "acme", "trace_id": TRACE}
    lines = {line["event"]: line for line in left.worker}
    for event, step, attempt in (
        ("step raised", "charge", 1), ("attempt failed", "charge", 2), ("published", "publish", 3),
    ):  # fmt: skip
        ids = {name: lines[event][name] for name in (*whose, "step", "attempt")}
        assert ids == whose | {"step": step, "attempt": attempt}
    about = [line for line in left.worker if "job_id" in line]
    assert all(whose.items() <= line.items() for line in about)


def test_nothing_of_inputs_artifacts_and_errors_is_told(left: Left) -> None:
    """Neither lines, metrics nor spans have what a run was given, made, or failed with."""
    for canary in CANARIES:
        assert canary not in left.said
        assert canary not in left.metrics
        assert canary.encode() not in left.raw
    assert "login failed, password=[redacted]" in left.said
    assert b"LOGIN_FAILED" in left.raw


def test_the_api_serves_what_it_knows_of_runs(left: Left) -> None:
    """`/metrics` of a process that runs no steps has creations and what waits, and nothing of steps."""
    assert 'lucius_lifebook_runs_created_total{outcome="fresh",workflow_id="leaky"} 1.0' in left.metrics
    assert 'lucius_lifebook_queue_messages{state="visible"} 0.0' in left.metrics
    assert "lucius_lifebook_up 1.0" in left.metrics
    assert "lucius_lifebook_step_seconds_count" not in left.metrics
    assert "acme" not in left.metrics
