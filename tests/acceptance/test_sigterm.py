"""Stopping on purpose, refusing to start, and running out of disk."""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import threading
from pathlib import Path

from lucius.testing.processes import Server, await_that
from tests.acceptance.jobs import Ledger, submit_all


def test_sigterm_drains_and_loses_nothing(tmp_path: Path) -> None:
    """SIGTERM while clients submit: exit 0, and every acknowledged job ends well after the next start."""
    keys = [f"job-{number}" for number in range(400)]
    with Server(tmp_path, "--services", "echo", "--echo-delay", "0.1") as server:
        server.start()
        ledger = Ledger(server.data)
        heard: dict[str, str] = {}
        sender = threading.Thread(target=lambda: heard.update(submit_all(server, keys)))
        sender.start()
        await_that(lambda: ledger.count("jobs") >= 100, "100 jobs")
        code = server.terminate()
        sender.join()
        assert code == 0, server.said()[-2000:]
        assert heard
        assert set(heard.values()) <= ledger.job_ids()
        server.start()
        await_that(lambda: ledger.open_jobs() == 0, "the end of every job")
        server.terminate()
        assert set(ledger.states()) == {"SUCCEEDED"}
        assert ledger.breaches() == []


def connection(server: Server) -> contextlib.closing[http.client.HTTPConnection]:
    """One that can be left waiting for its answer."""
    return contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60))


def test_sigterm_ends_streams_and_long_polls_at_once(tmp_path: Path) -> None:
    """Whoever waits for Lucius is told of its end: an empty answer, a finished stream, no waiting."""
    body = {
        "tenant_id": "acme", "request_type": "OCR", "schema_version": "1", "payload": {},
        "input_ref": {"uri": "s3://b/in.pdf"}, "output_ref": {"uri": "s3://b/out/"},
    }  # fmt: skip
    patience = {"LUCIUS_DRAIN_SECONDS": "600"}
    with Server(tmp_path, "--services", "none", environment=patience) as server:
        server.start()
        with server.calling() as caller:
            _, job = caller.post("/v1/orchestrate", body)
        with connection(server) as poll, connection(server) as stream:
            asked = json.dumps({"step_types": ["SIS"], "wait_seconds": 30})
            poll.request("POST", "/v1/directives:receive", asked, {"content-type": "application/json"})
            stream.request("GET", f"/v1/jobs/{job['jobId']}/events", headers={"accept": "text/event-stream"})
            with stream.getresponse() as told:
                assert told.readline().startswith(b"retry:")
                assert server.terminate() == 0
                assert b"job.accepted" in told.read()
            with poll.getresponse() as answer:
                assert (answer.status, json.loads(answer.read())) == (200, {"directives": []})


def test_a_second_lucius_on_the_same_data_is_refused(tmp_path: Path) -> None:
    """Two processes never share a ledger: the second says so in one sentence and goes; the first stays."""
    with Server(tmp_path, "--services", "echo") as first:
        first.start()
        (tmp_path / "second").mkdir()
        with Server(tmp_path / "second", "--services", "echo") as second:
            second.data = first.data
            second.start(ready=False)
            assert second.ended() != 0
            said = second.said().strip()
        assert "in use by another Lucius" in said
        assert "Traceback" not in said
        assert len(said.splitlines()) == 1, said
        with first.calling() as caller:
            assert caller.get("/readyz")[0] == 200


def test_a_bad_configuration_refuses_to_start_and_says_where(tmp_path: Path) -> None:
    """A protocol file with a mistake: no start, and the message has the file and the line."""
    protocols = tmp_path / "config" / "protocols"
    protocols.mkdir(parents=True)
    bad = "request_type: BAD\nversion: 1\nsteps:\n  - step_id: a\n    lease: soon\n"
    (protocols / "bad.yaml").write_text(bad)
    with Server(tmp_path, "--config", str(tmp_path / "config")) as server:
        server.start(ready=False)
        assert server.ended() != 0
        said = server.said()
    assert "bad.yaml:5" in said
    assert "Traceback" not in said


def small_files() -> None:
    """No file of this process may grow beyond a megabyte: what a full disk is to a ledger."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))


def test_a_full_disk_stops_lucius_and_loses_nothing(tmp_path: Path) -> None:
    """Out of disk it stops accepting and exits with an error; with room again every answered job is there."""
    keys = [f"job-{number}" for number in range(4_000)]
    with Server(tmp_path, "--services", "echo", "--echo-delay", "0.2") as server:
        server.start(before=small_files)
        heard = submit_all(server, keys)
        assert server.ended() != 0
        assert 0 < len(heard) < len(keys)
        server.start()
        ledger = Ledger(server.data)
        assert set(heard.values()) <= ledger.job_ids()
        await_that(lambda: ledger.open_jobs() == 0, "the end of every job")
        server.terminate()
        assert set(ledger.states()) == {"SUCCEEDED"}
        assert ledger.breaches() == []
