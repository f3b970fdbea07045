"""`lucius up` with the reference services: real worker processes, watched by their process ids."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lucius.services.documents import text_pdf
from lucius.testing.processes import Server, alive, await_that

NAMES = {"ocr", "embedding", "sis"}
PAGES = ("The library lends 12,000 books.", "It is open on Sundays.")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Lucius with workers, not started yet."""
    with Server(tmp_path, "--services", "reference", "--files", str(tmp_path)) as made:
        yield made


def started(server: Server) -> list[tuple[str, int]]:
    """Name and process id of every worker that was started, oldest first."""
    lines = [json.loads(line) for line in server.said().splitlines() if '"worker":' in line]
    return [(line["service"], line["worker"]) for line in lines if line["event"].endswith("was started")]


def staffed(server: Server, count: int = 3) -> dict[str, int]:
    """Wait until so many workers were started; the newest of each name."""
    await_that(lambda: len(started(server)) >= count, f"{count} workers", 60.0)
    return dict(started(server))


def arguments(pid: int) -> str:
    """What everybody on the machine can see of a process."""
    return subprocess.run(
        ["ps", "-o", "args=", "-p", str(pid)], capture_output=True, check=True, text=True
    ).stdout


def gone(pids: list[int]) -> None:
    """Wait until none of these processes runs."""
    await_that(lambda: not any(map(alive, pids)), f"{pids} to end", 60.0)


def submitted(server: Server, document: Path) -> str:
    """The id of a job that reads a document."""
    envelope = {
        "tenant_id": "acme", "request_type": "OCR_EMBEDDING_SIS", "schema_version": "1",
        "input_ref": {"uri": document.as_uri()}, "output_ref": {"uri": f"{document.as_uri()}.out/"},
        "payload": {"sis": {"prompt_set": ["How many books are there?"]}},
    }  # fmt: skip
    with server.calling() as caller:
        status, answer = caller.post("/v1/orchestrate", envelope)
    assert status == 202, answer
    return str(answer["jobId"])


def finished(server: Server, job_id: str) -> dict[str, Any]:
    """The job, once it is over."""
    with server.calling() as caller:
        await_that(lambda: caller.get(f"/v1/jobs/{job_id}")[1]["completed_at"] is not None, "the job", 90.0)
        return dict(caller.get(f"/v1/jobs/{job_id}")[1])


def test_three_workers_serve_and_stop_with_lucius(server: Server, tmp_path: Path) -> None:
    """Each service runs in a process of its own with a store of its own; SIGTERM ends all of them."""
    server.start()
    workers = staffed(server)
    assert set(workers) == NAMES
    assert not any("lk_" in arguments(pid) for pid in workers.values())
    job = finished(server, submitted(server, text_pdf(PAGES, tmp_path / "library.pdf")))
    assert job["state"] == "SUCCEEDED", job
    assert {path.stem for path in (server.data / "services").glob("*.db")} == NAMES
    assert server.terminate() == 0
    assert not any(alive(pid) for pid in workers.values())
    assert "lk_" not in server.said()


def test_a_killed_worker_is_replaced_and_the_job_ends(server: Server, tmp_path: Path) -> None:
    """After kill -9 of the OCR worker another one does the work, and only that one was replaced."""
    server.start()
    workers = staffed(server)
    os.kill(workers["ocr"], signal.SIGKILL)
    job = finished(server, submitted(server, text_pdf(PAGES, tmp_path / "library.pdf")))
    assert job["state"] == "SUCCEEDED", job
    again = staffed(server, 4)
    assert again["ocr"] != workers["ocr"]
    assert {name: pid for name, pid in again.items() if name != "ocr"} == {
        name: pid for name, pid in workers.items() if name != "ocr"
    }
    assert server.terminate() == 0


def test_workers_die_with_a_killed_lucius(server: Server) -> None:
    """After kill -9 of Lucius itself no worker is left; the next start has new ones."""
    server.start()
    workers = staffed(server)
    server.kill()
    gone(list(workers.values()))
    server.start()
    assert set(staffed(server, 6).values()).isdisjoint(workers.values())
    assert server.terminate() == 0


def test_in_memory_the_workspace_goes_with_the_process(tmp_path: Path) -> None:
    """With --in-memory the services work as ever, and nothing they wrote is left."""
    document = text_pdf(PAGES, tmp_path / "library.pdf")
    with Server(tmp_path, "--services", "reference", "--files", str(tmp_path), "--in-memory") as server:
        server.start()
        job = finished(server, submitted(server, document))
        assert job["state"] == "SUCCEEDED", job
        written = Path(job["final_output"]["uri"].removeprefix("file://"))
        assert written.exists()
        assert server.terminate() == 0
        assert not written.exists()
        assert not server.data.exists()


def test_documents_that_a_killed_worker_was_reading_do_not_stay(server: Server) -> None:
    """Temporary copies lie in a directory of Lucius's own, which the next start empties."""
    left = server.data / "services" / "scratch" / "lucius-left"
    left.mkdir(parents=True)
    (left / "document.pdf").write_text("somebody's")
    server.start()
    assert not left.exists()
    assert (server.data / "services" / "scratch").stat().st_mode & 0o777 == 0o700
    assert server.terminate() == 0
