"""Worker processes: small programs of the standard library in place of services."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from lucius.runtime.workers import Program, Workers
from lucius.testing.processes import alive, await_that

TELL = "import os, sys; print(os.getpid(), file=open(sys.argv[1], 'a'), flush=True); "
PATIENT = TELL + "sys.stdin.read()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + PATIENT
BRIEF = TELL + "sys.exit(3)"
PARENT = (
    "import os, subprocess, sys; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    "print(os.getpid(), child.pid, file=open(sys.argv[1], 'a'), flush=True); sys.stdin.read()"
)


class Told:
    """The process ids that programs wrote into a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pids(self) -> list[int]:
        """All of them, oldest first."""
        return [int(word) for word in self.path.read_text().split()] if self.path.exists() else []

    async def come(self, count: int) -> list[int]:
        """Wait until there are so many."""
        await asyncio.to_thread(await_that, lambda: len(self.pids()) >= count, f"{count} processes", 30.0)
        return self.pids()


async def gone(*pids: int) -> None:
    """Wait until none of these runs any more."""
    await asyncio.to_thread(await_that, lambda: not any(map(alive, pids)), "the processes to end", 30.0)


@pytest.fixture(autouse=True)
def lines() -> Iterator[list[EventDict]]:
    """What is logged, wherever an earlier test sent the log."""
    with capture_logs() as captured:
        yield captured


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """A file to write process ids into."""
    return Told(tmp_path / "pids")


@pytest.fixture
def program(told: Told) -> Callable[[str], Program]:
    """A program that runs some Python."""

    def make(code: str) -> Program:
        command = (sys.executable, "-c", code, str(told.path))
        return Program(name="one", command=command, environment=dict(os.environ))

    return make


@asynccontextmanager
async def supervised(*programs: Program, patience: float = 30.0) -> AsyncIterator[Workers]:
    """Workers at work; cancelled in the end, whatever happened."""
    workers = Workers(programs, patience=patience)
    running = asyncio.create_task(workers.run())
    try:
        yield workers
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_nothing_starts_before_the_api_answers(told: Told, program: Callable[[str], Program]) -> None:
    """Processes are started by `open`, not by `run`; a stop ends them by SIGTERM and starts no more."""
    async with supervised(program(PATIENT)) as workers:
        await asyncio.sleep(0)
        assert told.pids() == []
        workers.open()
        (pid,) = await told.come(1)
        await workers.stop()
        assert not alive(pid)
        assert told.pids() == [pid]


async def test_a_killed_process_is_started_again(told: Told, program: Callable[[str], Program]) -> None:
    """A kill -9 of a worker is answered by another one; cancelling the supervision leaves none behind."""
    async with supervised(program(PATIENT)) as workers:
        workers.open()
        (first,) = await told.come(1)
        os.kill(first, signal.SIGKILL)
        _, second = await told.come(2)
        assert alive(second)
    assert not alive(first)
    assert not alive(second)


async def test_a_process_that_keeps_failing_is_kept_trying(
    told: Told, program: Callable[[str], Program], lines: list[EventDict]
) -> None:
    """Each end is told with what ended it and how long the rest is, and the rests grow."""
    async with supervised(program(BRIEF)) as workers:
        workers.open()
        await told.come(3)
    ends = [line for line in lines if "ended_by" in line][:2]
    assert [line["ended_by"] for line in ends] == ["exit code 3", "exit code 3"]
    assert ends[0]["seconds"] < ends[1]["seconds"]


async def test_a_process_that_does_not_stop_is_killed(told: Told, program: Callable[[str], Program]) -> None:
    """After the patience is over a process that ignores SIGTERM is killed."""
    async with supervised(program(STUBBORN), patience=0.1) as workers:
        workers.open()
        (pid,) = await told.come(1)
        await workers.stop()
        assert not alive(pid)


async def test_what_a_worker_started_ends_with_it(told: Told, program: Callable[[str], Program]) -> None:
    """The children of a killed worker do not outlive it."""
    async with supervised(program(PARENT)) as workers:
        workers.open()
        worker, child, *_ = await told.come(2)
        os.kill(worker, signal.SIGKILL)
        await gone(worker, child)


async def test_a_program_that_cannot_be_started_ends_nobody(
    told: Told, program: Callable[[str], Program], lines: list[EventDict]
) -> None:
    """One program that is not there does not take the others with it."""
    missing = Program(name="none", command=(str(told.path.parent / "no-such-program"),), environment={})
    async with supervised(missing, program(PATIENT)) as workers:
        workers.open()
        (pid,) = await told.come(1)
        assert alive(pid)
        await workers.stop()
    assert any("it could not be started" in str(line.get("ended_by")) for line in lines)


def test_a_program_keeps_its_credential_to_itself() -> None:
    """What is shown of a program does not hold its environment."""
    shown = repr(Program(name="ocr", command=("x",), environment={"LUCIUS_API_KEY": "lk_secret"}))
    assert "secret" not in shown
