"""`lucius up` with Temporal: one command, with a server and a worker beside it."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lucius.errors import Unavailable
from lucius.runtime import temporal_address
from lucius.testing.hostile import valid
from lucius.testing.processes import HOST, Server, alive, await_that, free_port
from lucius.testing.temporal import TemporalServer

_numbers = count(1)
QUICK = {"LUCIUS_DRAIN_SECONDS": "3", "LUCIUS_LOG_STYLE": "json"}
PARTS = ("process", "ledger", "temporal", "lifebook")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Lucius on Temporal, not started yet."""
    with Server(tmp_path, "--engine", "temporal", environment=QUICK) as made:
        yield made


def submitted(server: Server) -> str:
    """The id of a new job."""
    with server.calling() as caller:
        status, answer = caller.post("/v1/orchestrate", valid(), idempotency_key=f"key-{next(_numbers)}")
    assert status == 202, answer
    return str(answer["jobId"])


def state(server: Server, job_id: str) -> str:
    """Of a job."""
    with server.calling() as caller:
        return str(caller.get(f"/v1/jobs/{job_id}")[1]["state"])


def beside(server: Server) -> dict[str, int]:
    """Process ids of the newest server and worker, by name."""
    lines = [json.loads(line) for line in server.said().splitlines() if '"worker":' in line]
    return {line["service"]: line["worker"] for line in lines if line["event"].endswith("was started")}


def parts(server: Server) -> tuple[int, dict[str, str]]:
    """What `/readyz` says."""
    with server.calling() as caller:
        status, answer = caller.get("/readyz")
    return status, answer["components"]


def test_a_job_goes_through_and_a_stop_leaves_nothing(tmp_path: Path) -> None:
    """One command takes a job to its end, and SIGTERM ends it with everything that it started."""
    pages = str(free_port())
    named = QUICK | {"LUCIUS_TEMPORAL_UI_PORT": pages}
    with Server(tmp_path, "--engine", "temporal", environment=named) as server:
        _goes_through(server, pages)


def _goes_through(server: Server, pages: str) -> None:
    server.start()
    job_id = submitted(server)
    await_that(lambda: state(server, job_id) == "SUCCEEDED", "the job", 60.0)
    await_that(lambda: parts(server) == (200, dict.fromkeys(PARTS, "ok")), "ok")
    pids = beside(server)
    assert set(pids) == {"temporal", "temporal-worker"}
    (answering,) = [json.loads(line) for line in server.said().splitlines() if "Temporal answers" in line]
    assert f"a server (--address {answering['address']}, pages on http://{HOST}:{pages})" in server.said()
    assert '"warning"' not in server.said(), "a start that goes well says nothing else"
    assert server.terminate() == 0
    assert "temporalio" not in server.said(), "a stop is told in our words"
    await_that(lambda: not any(map(alive, pids.values())), "server and worker to end", 30.0)


def test_a_kill_ends_what_is_beside_it_and_the_next_start_goes_on(server: Server) -> None:
    """After `kill -9` nothing is left running, and the job is finished by the next start on the same data."""
    server.start("--services", "none")
    job_id = submitted(server)
    await_that(lambda: state(server, job_id) != "QUEUED", "the workflow to drive it", 60.0)
    pids = beside(server)
    server.kill()
    await_that(lambda: not any(map(alive, pids.values())), "server and worker to end", 30.0)
    server.start()
    await_that(lambda: state(server, job_id) == "SUCCEEDED", "the job", 60.0)


def test_jobs_are_taken_before_temporal_answers(tmp_path: Path) -> None:
    """Without Temporal it is ready, says what is missed, and takes jobs; they go on when Temporal comes."""
    temporal = TemporalServer(tmp_path)
    named = QUICK | {"LUCIUS_TEMPORAL_ADDRESS": temporal.address}
    with Server(tmp_path, "--engine", "temporal", environment=named) as server:
        server.start()
        job_id = submitted(server)
        status, said = parts(server)
        assert status == 200
        assert said["temporal"].startswith("missed: ")
        assert state(server, job_id) == "QUEUED"
        temporal.start()
        try:
            await_that(lambda: state(server, job_id) == "SUCCEEDED", "the job", 60.0)
            assert set(beside(server)) == {"temporal-worker"}, "the server is not ours to start"
        finally:
            server.kill()
            temporal.kill()


def refused(*words: str, **variables: str) -> str:
    """What a command says that ends at once."""
    done = subprocess.run(
        [sys.executable, "-m", "lucius.entrypoints.cli", *words],
        capture_output=True, check=False, text=True, timeout=60, env={"PATH": "/usr/bin:/bin", **variables},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_a_taken_port_of_the_invoker_is_one_sentence(tmp_path: Path) -> None:
    """Who sets a port that somebody has is told which one, and where to set another."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = refused("up", "--engine", "temporal", "--port", "0", "--data", str(tmp_path), "--services",
                       "none", LUCIUS_INVOKER_PORT=port)  # fmt: skip
    assert said.startswith(f"lucius: {HOST} port {port} cannot be listened on: ")
    assert "LUCIUS_INVOKER_PORT. [ADDRESS_UNUSABLE]" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "variable", "value"),
    [
        (("up", "--engine", "temporal", "--port", "0"), "LUCIUS_TEMPORAL_UI_PORT", "{port}"),
        (("temporal-worker",), "LUCIUS_TEMPORAL_WORKER_HEALTH", "127.0.0.1:{port}"),
    ],
)
def test_a_taken_port_is_one_sentence(
    words: tuple[str, ...], variable: str, value: str, tmp_path: Path
) -> None:
    """Pages and probes that cannot be shown where they should be stop the start, and name the setting."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(*words, "--data", str(tmp_path), **{variable: value.format(port=port)})
    assert said.startswith(f"lucius: {HOST} port {port} cannot be listened on: ")
    assert f"{variable}. [ADDRESS_UNUSABLE]" in said


def test_an_extra_that_is_missing_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the engine says what to install."""
    found = importlib.util.find_spec

    def without(name: str, *more: Any) -> Any:
        return None if name == "temporalio" else found(name, *more)

    monkeypatch.setattr("importlib.util.find_spec", without)
    with pytest.raises(Unavailable, match=r"pip install 'lucius\[temporal\]'") as raised:
        temporal_address.require_temporal()
    assert raised.value.code == "TEMPORAL_NOT_INSTALLED"
