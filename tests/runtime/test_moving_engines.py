"""A ledger changes its engine while jobs are open: stop, start with the other one, nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lucius.testing.processes import Server, await_that
from tests.acceptance.jobs import Ledger, command, submit

QUICK = {"LUCIUS_DRAIN_SECONDS": "3", "LUCIUS_LOG_STYLE": "json"}
ONLY_OCR = {"LUCIUS_ECHO_STEP_TYPES": "OCR"}
"""Nobody does the second of three steps, so jobs stay open where they are."""


class Moving:
    """One data directory, and whoever runs on it now."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: Server | None = None
        self.ledger = Ledger(directory / "data")

    def run(self, engine: str, **variables: str) -> None:
        """Stop what runs, and go on with this engine."""
        self.stop()
        self._running = Server(self._directory, "--engine", engine, environment=QUICK | variables)
        self._running.start()

    def stop(self) -> None:
        """As an operator does."""
        if self._running is not None:
            assert self._running.terminate() == 0
        self._running = None

    def kill(self) -> None:
        """Whatever is left."""
        if self._running is not None:
            self._running.kill()

    def submit(self, key: str, *, delay_ms: int = 0) -> str:
        """The id of a new job of three steps, the first of which takes so long."""
        with self._server.calling() as caller:
            return submit(caller, command(key, payload={"ocr": {"echo": {"delay_ms": delay_ms}}}))

    def control(self, job_id: str, verb: str) -> None:
        """Ask something of a job."""
        with self._server.calling() as caller:
            status, answer = caller.post(f"/v1/jobs/{job_id}:{verb}", None)
        assert status in (200, 202), answer

    def job(self, job_id: str) -> dict[str, Any]:
        """As the API shows it."""
        with self._server.calling() as caller:
            found: dict[str, Any] = caller.get(f"/v1/jobs/{job_id}")[1]
        return found

    def reaches(self, job_id: str, state: str) -> None:
        """Wait for a job."""
        await_that(lambda: self.job(job_id)["state"] == state, f"{job_id} to be {state}", 120.0)

    def half_done(self, key: str) -> str:
        """A job whose first step is done, and whose second one waits for a service."""
        job_id = self.submit(key)
        await_that(lambda: self._states(job_id)[:2] == ["SUCCEEDED", "AWAITING_ACK"], "one step of three")
        return job_id

    def paused(self, key: str) -> str:
        """A job that was paused while its first step was worked on."""
        job_id = self.submit(key, delay_ms=1_000)
        self.control(job_id, "pause")
        self.reaches(job_id, "PAUSED")
        return job_id

    def attempts(self, job_id: str) -> list[int]:
        """Of each step."""
        return [step["attempt_no"] for step in self.job(job_id)["steps"]]

    def _states(self, job_id: str) -> list[str]:
        return [step["state"] for step in self.job(job_id)["steps"]]

    @property
    def _server(self) -> Server:
        assert self._running is not None
        return self._running


@pytest.fixture
def lucius(tmp_path: Path) -> Iterator[Moving]:
    """Nothing runs yet."""
    moving = Moving(tmp_path)
    yield moving
    moving.kill()


@pytest.mark.parametrize(("old", "new"), [("outbox", "temporal"), ("temporal", "outbox")])
def test_open_jobs_go_on_with_the_other_engine(lucius: Moving, old: str, new: str) -> None:
    """Jobs half done, or paused, are finished by the other engine; no step is done twice, no attempt lost."""
    lucius.run(old, **ONLY_OCR)
    paused, waiting = lucius.paused("paused"), lucius.half_done("waiting")
    lucius.run(new)
    assert lucius.job(paused)["state"] == "PAUSED"
    lucius.control(paused, "resume")
    for job_id in (waiting, paused, lucius.submit("new")):
        lucius.reaches(job_id, "SUCCEEDED")
        assert lucius.attempts(job_id) == [1, 1, 1]
    assert lucius.ledger.breaches() == []
