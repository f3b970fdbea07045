"""Processes of `lucius lifebook worker`, what they wrote down, and the test's own side of the same runs.

State: a `Workers` is a directory: what workers say goes to `log`, what their steps did to `diary`. All
processes of it end with its block; `killed` remembers those that a test ended without a goodbye.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from lucius.lifebook.core.run import Run
from lucius.lifebook.desk import LifebookDesk
from lucius.lifebook.usecases.create import RunRequest
from lucius.testing.processes import await_that

ROOT = Path(__file__).parents[2]
FLOWS = "tests.acceptance.lifebook_flows:registry"
LEASE = 2.0
WITHIN = 60.0
LOOK = 0.05


class Line(NamedTuple):
    """Something a step did."""

    job_id: str
    step: int
    attempt: int
    process: int
    what: str


class Workers:
    """Worker processes that share one place."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.log = directory / "log"
        self.diary = directory / "diary"
        self.killed: set[int] = set()
        self._running: list[subprocess.Popen[bytes]] = []
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
        self._environment = inherited | {
            "LUCIUS_LIFEBOOK_WORKFLOWS": FLOWS,
            "LUCIUS_LIFEBOOK_LEASE_SECONDS": str(LEASE),
            "LUCIUS_LIFEBOOK_SWEEP_SECONDS": "0.3",
            "LUCIUS_LIFEBOOK_BACKOFF_SECONDS": "0.1",
            "LUCIUS_LOG_STYLE": "json",
            "DIARY": str(self.diary),
            "PYTHONPATH": str(ROOT),
            **environment,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in list(self._running):
            process.send_signal(signal.SIGCONT)
            self.kill(process)

    def begin(self, **environment: str) -> subprocess.Popen[bytes]:
        """One more process; it may not be at work yet."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "lucius.entrypoints.cli", "lifebook", "worker"],
                cwd=self.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment | environment,
            )
        self._running.append(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """End it as a power cut would."""
        self.killed.add(process.pid)
        process.kill()
        process.wait()
        self._running.remove(process)

    def kill_all(self) -> None:
        """The same to all that run."""
        for process in list(self._running):
            self.kill(process)

    def terminate(self, process: subprocess.Popen[bytes]) -> int:
        """Ask it to stop; its exit code."""
        process.terminate()
        return self.ended(process)

    def ended(self, process: subprocess.Popen[bytes]) -> int:
        """Wait until it has ended; its exit code."""
        code = process.wait(WITHIN)
        self._running.remove(process)
        return code

    def said(self) -> list[dict[str, Any]]:
        """The log lines of all of them; a kill may leave half a line."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [found for found in map(_parsed, lines) if found is not None]

    def lines(self) -> list[Line]:
        """What steps did, in the order in which it happened."""
        if not self.diary.exists():
            return []
        parts = (line.split() for line in self.diary.read_text().splitlines())
        return [
            Line(job, int(step), int(attempt), int(process), what)
            for job, step, attempt, process, what in parts
        ]

    def ran(self, job_id: str, what: str = "began") -> list[int]:
        """The steps of a run that began (or ended in some way), in order."""
        return [line.step for line in self.lines() if (line.job_id, line.what) == (job_id, what)]

    def process_in(self, job_id: str, step: int) -> int:
        """Wait until a step has begun; the process it is in."""
        await_that(lambda: step in self.ran(job_id), f"step {step} of {job_id}", WITHIN)
        return next(line.process for line in self.lines() if (line.job_id, line.step) == (job_id, step))

    def gate(self, job_id: str) -> Path:
        """The file that a gated step waits for, until it is gone."""
        return Path(f"{self.diary}.{job_id}")


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def request(workflow_id: str, *, workspace_id: str = "acme", key: str | None = None) -> RunRequest:
    """What is asked for."""
    return RunRequest(workspace_id=workspace_id, user_id="ada", workflow_id=workflow_id, key=key)


async def until(holds: Callable[[], Awaitable[bool]], what: str, within: float = WITHIN) -> None:
    """Look until something holds."""
    try:
        async with asyncio.timeout(within):
            while not await holds():
                await asyncio.sleep(LOOK)
    except TimeoutError:
        raise AssertionError(f"waited {within:.0f} s in vain for: {what}") from None


async def ended(desk: LifebookDesk, job_id: str) -> Run:
    """The run, once it has ended."""

    async def over() -> bool:
        return (await desk.look.run(job_id)).terminal

    await until(over, f"the end of {job_id}")
    return await desk.look.run(job_id)
