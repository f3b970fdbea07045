"""The commands that make, follow and steer jobs, against a real server."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import apsw
import pytest

from lucius import sdk
from lucius.entrypoints.cli.envelopes import build
from tests.cli.conftest import Program, Server

THREE = "OCR_EMBEDDING_SIS"
FAILS = {"echo": {"fail": "final"}}
SLOW = {"echo": {"delay_ms": 60000}}


def submitted(lucius: Program, name: str, **more: Any) -> str:
    """The id of a new one-step job, made without a process of its own."""
    envelope = build(f"s3://bucket/{lucius.home.name}/{name}", {"request_type": "OCR"} | more)
    with sdk.Client(lucius.url) as client:
        return client.send(sdk.commands.submit(envelope)).job_id


def test_a_uri_becomes_a_job_with_defaults_for_the_rest(lucius: Program) -> None:
    """`lucius submit URI --type OCR` is enough."""
    uri = f"s3://bucket/{lucius.home.name}.pdf"
    receipt = lucius.json("submit", uri, "--type", "OCR")
    job = lucius.json("watch", receipt["jobId"])
    assert job["state"] == "SUCCEEDED"
    assert job["tenant_id"] == "default"
    assert job["input_ref"] == {"uri": uri}
    assert job["output_ref"] == {"uri": f"{uri}.out/"}


def test_a_document_on_disk_becomes_a_job(lucius: Program) -> None:
    """`lucius submit report.pdf --type … --wait` works against a local Lucius as it stands."""
    document = lucius.home / "quarterly report.pdf"
    document.write_bytes(b"%PDF")
    done = lucius("submit", document.name, "--type", THREE, "--wait")
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[2] for line in lines if line[-1] == "succeeded"] == ["ocr", "embedding", "sis", "job"]


@pytest.mark.parametrize("way", ["argument", "stdin", "json file", "yaml file"])
def test_an_envelope_may_come_in_any_way(lucius: Program, way: str) -> None:
    """An envelope is the same job as JSON text, on stdin, in a JSON file and in a YAML file."""
    envelope: dict[str, Any] = {
        "tenant_id": "acme",
        "request_type": "OCR",
        "input_ref": {"uri": "s3://bucket/one.pdf"},
        "output_ref": {"uri": "s3://bucket/out/"},
        "payload": {"language": "en"},
        "schema_version": "1",
    }
    text = json.dumps(envelope)
    source, stdin = text, None
    if way == "stdin":
        source, stdin = "-", text
    elif way == "json file":
        source = "envelope.json"
        (lucius.home / source).write_text(text)
    elif way == "yaml file":
        source = "envelope.yaml"
        fields = [f"{name}: {json.dumps(value)}" for name, value in envelope.items()]
        (lucius.home / source).write_text("\n".join(fields))
    receipt = json.loads(lucius("submit", source, "--key", "one-key", "--json", stdin=stdin).stdout)
    job = lucius.json("job", receipt["jobId"])
    assert {name: job[name] for name in ("tenant_id", "request_type", "input_ref")} == {
        name: envelope[name] for name in ("tenant_id", "request_type", "input_ref")
    }
    assert job["idempotency_key"] == "one-key"


def test_options_win_over_the_envelope(lucius: Program) -> None:
    """What is said on the command line counts more than what the file says."""
    envelope = {"request_type": "SIS", "tenant_id": "acme", "input_ref": {"uri": "s3://bucket/x"}}
    options = ["--type", "OCR", "--tenant", "other", "--doc-id", "d1", "--mode", "BURST", "--priority", "7"]
    plan = lucius.json("plan", json.dumps(envelope), *options)
    assert (plan["tenant_id"], plan["request_type"], plan["mode"]) == ("other", "OCR", "BURST")


def test_the_same_command_twice_is_one_job(lucius: Program) -> None:
    """A repeated submit says that the job is already there."""
    first = lucius.json("submit", f"s3://bucket/{lucius.home.name}", "-t", "OCR")
    again = lucius("submit", f"s3://bucket/{lucius.home.name}", "-t", "OCR")
    assert first["jobId"] in again.stdout
    assert "already there" in again.stdout


def test_a_plan_creates_nothing(lucius: Program) -> None:
    """`plan` tells lane and steps, and leaves no job behind."""
    plan = lucius.json("plan", "s3://bucket/p", "-t", THREE, "--tenant", "tenant_a")
    assert plan["lane"] == 15
    assert [step["step_id"] for step in plan["steps"]] == ["ocr", "embedding", "sis"]
    assert "nothing was created" in lucius("plan", "s3://bucket/p", "-t", THREE).stdout
    assert lucius.json("jobs", "--tenant", "tenant_a")["jobs"] == []


def test_a_failed_job_ends_in_one(lucius: Program) -> None:
    """`submit --wait` and `watch` exit with 1 when the job failed, and say why."""
    done = lucius(
        "submit", f"s3://bucket/{lucius.home.name}", "-t", "OCR", "--payload", json.dumps(FAILS), "-w", code=1
    )
    assert "ECHO_FAILURE" in done.stdout
    job_id = lucius.json("jobs", "--state", "failed_final", "-n", "1")["jobs"][0]["jobId"]
    assert lucius.json("watch", job_id, code=1)["state"] == "FAILED_FINAL"
    assert "failed for good" in lucius("explain", job_id).stdout


def test_waiting_ends_when_the_time_is_up(lucius: Program) -> None:
    """A job that is still running after --timeout ends in 4, and goes on."""
    job_id = submitted(lucius, "slow", payload=SLOW)
    assert "The time is up" in lucius("watch", job_id, "--timeout", "0.2", code=4).stdout
    assert lucius.json("cancel", job_id, "--force")["state"] == "CANCELLED"
    assert lucius.json("watch", job_id, code=1)["state"] == "CANCELLED"


def test_jobs_are_filtered_and_paged(lucius: Program) -> None:
    """Filters narrow the list; --all goes through every page; the cursor goes on where a page ended."""
    ids = [submitted(lucius, f"{number}", tenant_id="paging") for number in range(3)]
    page = lucius.json("jobs", "--tenant", "paging", "--limit", "2")
    assert [job["jobId"] for job in page["jobs"]] == [ids[2], ids[1]]
    rest = lucius.json("jobs", "--tenant", "paging", "--limit", "2", "--cursor", page["next_cursor"])
    assert [job["jobId"] for job in rest["jobs"]] == [ids[0]]
    everything = lucius.json("jobs", "--tenant", "paging", "--limit", "2", "--all")
    assert [job["jobId"] for job in everything["jobs"]] == ids[::-1]
    assert ids[0] in lucius("jobs", "--tenant", "paging").stdout
    assert "No jobs" in lucius("jobs", "--tenant", "nobody-at-all").stdout


def test_events_tell_the_whole_story(lucius: Program) -> None:
    """`events` numbers every event without a gap; --follow --json tells the same, one a line."""
    job_id = submitted(lucius, "story")
    lucius.json("watch", job_id)
    events = lucius.json("events", job_id)["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    followed = lucius("events", job_id, "--follow", "--json").stdout.splitlines()
    assert [json.loads(line) for line in followed] == events
    later = lucius.json("events", job_id, "--after", "2")["events"]
    assert later == events[2:]
    assert "picked up by a service" in lucius("events", job_id).stdout


def test_pause_resume_and_retry(lucius: Program) -> None:
    """A job can be paused, resumed, cancelled and run again as a new one."""
    job_id = submitted(lucius, "steer", not_before="2099-01-01T00:00:00Z")
    assert lucius.json("pause", job_id)["state"] == "PAUSED"
    assert "PAUSED" in lucius("job", job_id).stdout
    assert lucius.json("resume", job_id)["state"] == "QUEUED"
    assert "CANCELLED" in lucius("cancel", job_id).stdout
    retried = lucius.json("retry", job_id)
    assert lucius.json("watch", retried["jobId"])["ancestor_id"] == job_id


def test_one_refusal_does_not_stop_the_others(lucius: Program) -> None:
    """Several ids are each asked; the exit code tells that one was refused."""
    job_id = submitted(lucius, "many", not_before="2099-01-01T00:00:00Z")
    answer = lucius.json("cancel", "no-such-job", job_id, code=1)
    assert answer["jobs"][0]["error"]["code"] == "NOT_FOUND"
    assert answer["jobs"][1]["state"] == "CANCELLED"


def test_dead_letters_are_listed_and_redriven(lucius: Program) -> None:
    """A job that failed for good is in the list until somebody runs it again."""
    job_id = submitted(lucius, "dead", tenant_id="dead", payload=FAILS)
    lucius.json("watch", job_id, code=1)
    letters = lucius.json("dead-letters", "list", "--tenant", "dead")["dead_letters"]
    assert [letter["jobId"] for letter in letters] == [job_id]
    assert "ECHO_FAILURE" in lucius("dead-letters", "list", "--tenant", "dead").stdout
    redriven = lucius.json("dead-letters", "redrive", "--all", "--tenant", "dead")["jobs"]
    assert lucius.json("job", redriven[0]["jobId"])["ancestor_id"] == job_id
    letters = lucius.json("dead-letters", "list", "--tenant", "dead")["dead_letters"]
    assert {letter["jobId"]: letter["redriven_as"] for letter in letters}[job_id] == redriven[0]["jobId"]
    lucius("dead-letters", "redrive", code=2)


def test_lanes_and_protocols_are_shown(lucius: Program) -> None:
    """The lanes are those of the specification, and every shipped protocol is listed."""
    lanes = {lane["mode"]: lane["lane"] for lane in lucius.json("lanes", "tenant_a", "doc1")["lanes"]}
    assert lanes == {"DEFAULT": 15, "BURST": 3}
    assert "global-bus-p15" in lucius("lanes", "tenant_a").stdout
    known = {one["request_type"] for one in lucius.json("protocols", "list")["protocols"]}
    assert {"OCR", "EMBEDDING", "SIS", THREE} <= known
    assert "ocr → embedding → sis" in lucius("protocols", "list").stdout


def test_a_live_ledger_is_verified(lucius: Program, server: Server) -> None:
    """`verify` finds nothing to complain about in the ledger of a server at work."""
    lucius.json("watch", submitted(lucius, "verified"))
    data = str(server.home / "data")
    report = lucius.json("verify", "--data", data)
    assert (report["ok"], report["findings"]) == (True, [])
    assert report["jobs"] >= 1
    assert "keeps every promise" in lucius("verify", f"{data}/ledger.db").stdout


def test_a_broken_ledger_is_found_out(tmp_path: Path) -> None:
    """`verify` names the promise, the job and what is wrong, and ends in 1."""
    server = Server(tmp_path, "--services", "echo")
    lucius = Program(server.url, tmp_path)
    job_id = submitted(lucius, "broken")
    lucius.json("watch", job_id)
    assert server.stop() == 0
    with apsw.Connection(str(tmp_path / "data" / "ledger.db")) as ledger:
        ledger.execute("DELETE FROM events WHERE seq = 3")
    report = lucius.json("verify", "--data", "data", code=1)
    assert not report["ok"]
    assert {finding["job_id"] for finding in report["findings"]} == {job_id}
    assert report["findings"][0]["promise"] in lucius("verify", "--data", "data", code=1).stdout


def test_watching_survives_a_crash_of_the_server(tmp_path: Path) -> None:
    """`watch` comes back after kill -9 and tells every event once."""
    server = Server(tmp_path, "--services", "echo")
    lucius = Program(server.url, tmp_path)
    try:
        job_id = submitted(lucius, "restart", payload={"echo": {"delay_ms": 4000}})  # watched before it ends
        watching = lucius.open("watch", job_id)
        assert watching.stdout is not None
        told = [watching.stdout.readline() for _ in range(4)]
        assert "picked up" in told[3]
        server.kill()
        assert "Connecting again" in watching.stdout.readline()
        server.start()
        rest, complaints = watching.communicate(timeout=60)
        assert (watching.returncode, complaints) == (0, "")
        seen = [line for line in "".join(told).splitlines() + rest.splitlines() if line.startswith("+")]
        assert len(seen) == len(lucius.json("events", job_id)["events"])
    finally:
        assert server.stop() == 0


def test_an_interrupt_is_clean(lucius: Program) -> None:
    """Ctrl-C ends a watch with 130 and without a traceback; the job is left alone."""
    job_id = submitted(lucius, "interrupt", payload=SLOW)
    watching = lucius.open("watch", job_id)
    assert watching.stdout is not None
    assert "accepted" in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, complaints = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert "Traceback" not in complaints
    assert lucius.json("cancel", job_id, "--force")["state"] == "CANCELLED"
