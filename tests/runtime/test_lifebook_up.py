"""`lucius up` serves and executes lifebook runs, and lets them go when it stops."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from lucius.testing.processes import Caller, Server, await_that

FLOWS = """
import time
from lucius.lifebook.workflows import Registry, Step, Workflow

def patient(context):
    context.token.wait(60)
    context.token.raise_if_stopped()

registry = Registry([Workflow("patient", (Step("one", patient, credits=100), Step("two", patient)))])
"""


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """A Lucius whose workflow waits until it is stopped."""
    tmp_path.joinpath("patient_flows.py").write_text(FLOWS)
    environment = {"LUCIUS_LIFEBOOK_WORKFLOWS": "patient_flows:registry", "PYTHONPATH": str(tmp_path)}
    return Server(tmp_path, environment=environment)


def _begun(caller: Caller) -> str:
    asked = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "patient"}
    status, run = caller.post("/v1/lifebook/jobs", asked)
    assert status == 201, run
    await_that(lambda: _run(caller, run["job_id"])["status"] == "running", "the run to begin")
    return str(run["job_id"])


def _run(caller: Caller, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = caller.get(f"/v1/lifebook/jobs/{job_id}")[1]
    return found


def test_an_impatient_stop_hands_runs_on(server: Server) -> None:
    """Two signals: the step is stopped, its run is handed on with its attempt, the exit code is 0."""
    with server:
        server.start()
        with server.calling() as caller:
            job_id = _begun(caller)
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        await_that(lambda: "Finished server process" in server.said(), "the listener to end")
        assert server.terminate() == 0
        server._environment["LUCIUS_LIFEBOOK_CONCURRENCY"] = "0"
        server.start()
        with server.calling() as caller:
            left = _run(caller, job_id)
    assert (left["status"], left["attempts"], left["step_cursor"]) == ("queued", 1, 0)


def test_a_killed_lucius_takes_its_runs_up_again(server: Server) -> None:
    """After kill -9 the next start waits for the lease, then goes on; accepted runs outlive the process."""
    server._environment["LUCIUS_LIFEBOOK_LEASE_SECONDS"] = "1"
    with server:
        server.start()
        with server.calling() as caller:
            job_id = _begun(caller)
        server.kill()
        server.start()
        with server.calling() as caller:
            await_that(lambda: _run(caller, job_id)["attempts"] == 2, "the run to be taken up again")
            assert caller.post(f"/v1/lifebook/jobs/{job_id}:cancel", {})[0] == 200
            ended = _run(caller, job_id)
            wallet = caller.get("/v1/lifebook/workspaces/acme/wallet")[1]
    assert ended["status"] == "canceled"
    assert (wallet["available"], wallet["reserved"], wallet["spent"]) == (1000, 0, 0)
