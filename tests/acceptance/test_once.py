"""One key is one job, over real sockets and at the same moment."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from lucius.testing.processes import Server
from tests.acceptance.jobs import ACCEPTED, Ledger, command

AT_ONCE = 64


def ask_together(server: Server, body: dict[str, Any]) -> list[tuple[int, Any]]:
    """Send the same command from 64 connections that start together."""
    gate = threading.Barrier(AT_ONCE)
    answers: list[tuple[int, Any]] = []

    def work() -> None:
        with server.caller() as caller:
            caller.get("/healthz")  # the connection stands before the race begins
            gate.wait()
            answers.append(caller.post("/v1/orchestrate", body))

    workers = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return answers


def test_64_submissions_of_one_key_at_once_are_one_job(tmp_path: Path) -> None:
    """64 at once with one key: one job, one answer that made it, 63 that found it; so with a derived key."""
    with Server(tmp_path, "--services", "echo") as server:
        server.start()
        for number, body in enumerate((command("one-key"), command(doc_id="no-key")), start=1):
            answers = ask_together(server, body)
            assert {status for status, _ in answers} == {ACCEPTED}
            assert len({answer["jobId"] for _, answer in answers}) == 1
            assert sum(not answer["duplicate"] for _, answer in answers) == 1
            assert Ledger(server.data).count("jobs") == number


def test_one_key_with_another_body_is_refused_with_pointers(tmp_path: Path) -> None:
    """The same key with another body is 422, says where the bodies differ, and creates nothing."""
    with Server(tmp_path, "--services", "echo") as server:
        server.start()
        with server.calling() as caller:
            assert caller.post("/v1/orchestrate", command("one-key"))[0] == ACCEPTED
            other = command("one-key", payload={"ocr": {"dpi": 300}})
            status, problem = caller.post("/v1/orchestrate", other)
            assert status == 422
            assert problem["code"] == "IDEMPOTENCY_KEY_REUSED"
            assert [one["pointer"] for one in problem["errors"]] == ["/payload/ocr"]
            assert caller.post("/v1/orchestrate", command("one-key"))[0] == ACCEPTED
        assert Ledger(server.data).count("jobs") == 1
