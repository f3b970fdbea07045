"""The processes of a Lucius on Temporal, each on its own, on one data directory."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lucius.runtime.leadership import Leadership
from lucius.testing.hostile import valid
from lucius.testing.processes import HOST, await_that, free_port
from lucius.testing.temporal_processes import LuciusProcess, TemporalProcesses

_numbers = count(1)


@pytest.fixture(scope="module")
def lucius(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporalProcesses]:
    """Server, worker, API and two invokers at work."""
    with TemporalProcesses(tmp_path_factory.mktemp("apart"), invokers=2) as made:
        made.start_all()
        yield made


class Hooks:
    """Somebody who hears webhooks: `JOB:TYPE` of each."""

    def __init__(self) -> None:
        self.heard: set[str] = set()
        hears = self.heard

        class Ear(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                told = json.loads(self.rfile.read(int(self.headers["content-length"])))
                hears.add(f"{told['data']['jobId']}:{told['type']}")
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer((HOST, 0), Ear)
        self.url = f"http://{HOST}:{self.server.server_port}/"


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    """A receiver of webhooks on this machine."""
    made = Hooks()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def submitted(lucius: TemporalProcesses, **changes: Any) -> str:
    """The id of a new job."""
    key = f"key-{next(_numbers)}"
    with lucius.calling() as caller:
        status, answer = caller.post("/v1/orchestrate", valid(**changes), idempotency_key=key)
    assert status == 202, answer
    return str(answer["jobId"])


def state(lucius: TemporalProcesses, job_id: str) -> str:
    """Of a job."""
    with lucius.calling() as caller:
        return str(caller.get(f"/v1/jobs/{job_id}")[1]["state"])


def succeeded(lucius: TemporalProcesses, job_id: str) -> None:
    """Wait for the end of a job."""
    await_that(lambda: state(lucius, job_id) == "SUCCEEDED", f"{job_id}\n{lucius.said()}", 60.0)


def said_by(*words: str) -> str:
    """What a command says that cannot start."""
    done = subprocess.run(
        [sys.executable, "-m", "lucius.entrypoints.cli", *words],
        capture_output=True, check=False, text=True, timeout=60, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_who_follows_a_job_hears_of_it_at_once(lucius: TemporalProcesses) -> None:
    """The API streams what the invoker writes when it is written, not at the next heartbeat."""
    job_id = submitted(lucius)
    connection = http.client.HTTPConnection(HOST, lucius.port, timeout=60.0)
    connection.request("GET", f"/v1/jobs/{job_id}/events", headers={"accept": "text/event-stream"})
    story = connection.getresponse().read().decode()  # the stream ends with the job
    connection.close()
    assert "event: job.succeeded" in story
    assert "still here" not in story, "it was only found at a heartbeat"


def test_a_job_goes_on_when_worker_and_invokers_come_back(lucius: TemporalProcesses) -> None:
    """A job that is accepted while nobody could drive it is driven once they are there."""
    names = ("worker", "invoker-1", "invoker-2")
    for name in names:
        lucius.kill(name)
    job_id = submitted(lucius)
    assert state(lucius, job_id) == "QUEUED"
    for name in names:
        lucius.start(name, ready=False)
    succeeded(lucius, job_id)


def test_one_invoker_is_enough(lucius: TemporalProcesses, hooks: Hooks) -> None:
    """While one of two invokers is away, whichever, the other does the work of both: webhooks too."""
    for name in ("invoker-1", "invoker-2"):
        lucius.start_all()
        lucius.kill(name)
        told = f"{submitted(lucius, callback_urls=[hooks.url])}:lucius.job.succeeded"
        await_that(partial(hooks.heard.__contains__, told), f"the webhook without {name}", 60.0)
    lucius.start_all()


def test_commands_of_people_reach_the_invoker(lucius: TemporalProcesses) -> None:
    """The API hands a cancellation to an invoker, even of a job whose workflow nobody drives."""
    lucius.start_all()
    lucius.kill("worker")
    try:
        job_id = submitted(lucius)
        with lucius.calling() as caller:
            status, answer = caller.post(f"/v1/jobs/{job_id}:cancel", {})
        assert (status, answer["state"]) == (200, "CANCELLED"), answer
    finally:
        lucius.start("worker")


def test_a_process_of_the_wrong_kind_is_refused(lucius: TemporalProcesses) -> None:
    """A data directory that processes share is not given to one that wants it for itself."""
    said = said_by("up", "--port", "0", "--services", "none", "--data", str(lucius.data))
    assert "is in use by another Lucius" in said
    assert "[LEDGER_IN_USE]" in said


def test_a_taken_port_is_one_sentence(lucius: TemporalProcesses) -> None:
    """A second invoker on the same port is told so before it touches anything."""
    port = lucius.invokers[0].port
    said = said_by("invoker", "--port", str(port), "--data", str(lucius.data))
    assert said.startswith(f"lucius: {HOST} port {port} cannot be listened on")


def test_all_stop_when_asked(lucius: TemporalProcesses) -> None:
    """SIGTERM ends each process in order, with nothing to complain about."""
    lucius.start_all()
    succeeded(lucius, submitted(lucius))
    assert set(lucius.terminate_all().values()) == {0}
    assert "a part has failed" not in lucius.said()


def test_a_worker_alone_says_once_what_it_waits_for(tmp_path: Path) -> None:
    """Without Temporal and invoker a worker waits, says so once each, and stops when asked."""
    health = free_port()
    variables = {
        "LUCIUS_DATA": str(tmp_path),
        "LUCIUS_TEMPORAL_ADDRESS": f"{HOST}:{free_port()}",
        "LUCIUS_INVOKER_PORT": str(free_port()),
        "LUCIUS_TEMPORAL_WORKER_HEALTH": f"{HOST}:{health}",
        "LUCIUS_LOG_STYLE": "json",
    }
    worker = LuciusProcess(tmp_path / "log", "temporal-worker", port=health, environment=variables)
    worker.start(ready=False)
    try:
        lines = ("Temporal does not answer; trying on", "no invoker answers; trying on")
        await_that(lambda: all(line in worker.said() for line in lines), "both lines", 60.0)
        await_that(lambda: worker.ready_status() == 503, "a probe that says no", 60.0)
        assert worker.terminate() == 0
    finally:
        worker.kill()
    assert [worker.said().count(line) for line in lines] == [1, 1]


async def test_one_process_leads_and_the_next_one_follows(tmp_path: Path) -> None:
    """What one process does for all is done by the next one when it is gone, and not before."""
    looks = asyncio.Queue[float]()

    async def look(seconds: float) -> None:
        await looks.put(seconds)
        await asyncio.sleep(0)

    first, second = (Leadership(tmp_path / "lock", sleep=look) for _ in range(2))
    await first.won()
    waiting = asyncio.create_task(second.won())
    await looks.get()
    assert not waiting.done()
    first.close()
    await waiting
    second.close()
