"""Lifebook runs on their file, beside a bare loop that commits as often; and what they cost when idle.

The bare loop writes rows of the same size into the same tables, one transaction after the other in one
thread, each of them synced. It decides nothing and sends no messages. Whoever commits for several at once,
as the lifebook's file does, can be quicker than that.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import apsw

from bench.figures import ROUNDS, Figure, Run, compared
from bench.lifebook_flows import STEPS
from bench.processes import clean_environment, cpu_seconds, lucius
from lucius.lifebook.adapters.sqlite.schema import open_file
from lucius.lifebook.usecases.create import RunRequest
from lucius.runtime.building.lifebook import open_lifebook
from lucius.runtime.building.lifebook_backends import FILE
from lucius.runtime.settings import Settings

PART = "lifebook"
FLOWS = "bench.lifebook_flows:registry"
RUNS = 3_000
WRITES = STEPS + 1
"""Of one run: taking it, and each step. The last one ends it."""
CREATION_WRITES = 3
"""The record, its message, and the note that it was sent."""
BODY = b"x" * 900
AT_ONCE = 16
WITHIN = 120.0
SETTLE_SECONDS, IDLE_SECONDS = 5.0, 20.0


def measure(run: Run) -> list[Figure]:
    """Creations, executions, and rest."""
    created, executed, wrote, finished = [], [], [], []
    for turn in range(ROUNDS):
        run.tell(f"round {turn + 1} of {ROUNDS}")
        home = run.home / f"runs-{turn}"
        home.mkdir(mode=0o700)
        created.append(asyncio.run(_create(home)))
        executed.append(_execute(home))
        wrote.append(bare(run.home / f"bare-created-{turn}.db", CREATION_WRITES))
        finished.append(bare(run.home / f"bare-executed-{turn}.db", WRITES))
    run.tell("at rest")
    rest = {backend: idle(run.home / f"idle-{backend}", backend) for backend in ("sqlite", "off")}
    base, steps = "bare loop, as many commits", f"runs of {STEPS} steps, one worker"
    return [
        compared(PART, f"creations, {AT_ONCE} at once", "runs/s", created, baseline=base, against=wrote),
        compared(PART, steps, "runs/s", executed, baseline=base, against=finished),
        compared(PART, "CPU of `lucius up` at rest", "% of a core", [rest["sqlite"]],
                 baseline="without lifebook runs", against=[rest["off"]]),
    ]  # fmt: skip


async def _create(home: Path) -> float:
    """Runs created in a second."""
    settings = Settings(
        data=home, lifebook_workflows=FLOWS, lifebook_concurrency=0, lifebook_opening_credits=10**6
    )
    lifebook = await open_lifebook(settings)
    assert lifebook is not None
    request = RunRequest(workspace_id="acme", user_id="ada", workflow_id="five")
    left = iter(range(RUNS))

    async def some() -> None:
        for _ in left:
            await lifebook.desk.create.create(request)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(some())
    seconds = time.perf_counter() - began
    await lifebook.backend.close()
    return RUNS / seconds


def _execute(home: Path) -> float:
    """Runs executed in a second, from the first that is taken to the last that ends."""
    settings = {"LUCIUS_DATA": str(home), "LUCIUS_LIFEBOOK_WORKFLOWS": FLOWS}
    worker = subprocess.Popen(
        [sys.executable, "-m", "lucius.entrypoints.cli", "lifebook", "worker"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=clean_environment() | settings | {"LUCIUS_LIFEBOOK_CONCURRENCY": str(AT_ONCE)},
    )
    try:
        deadline = time.monotonic() + WITHIN
        while _value(home, "SELECT count(*) FROM runs WHERE status = 'completed'") < RUNS:
            if time.monotonic() > deadline:
                message = f"the worker did not end {RUNS} runs in {WITHIN:.0f} s"
                raise RuntimeError(message)
            time.sleep(0.2)
    finally:
        worker.terminate()
        worker.wait()
    spread = "max(body ->> 'completed_at') - min(body ->> 'started_at')"
    return 1000 * RUNS / _value(home, f"SELECT {spread} FROM (SELECT CAST(body AS TEXT) AS body FROM runs)")


def _value(home: Path, query: str) -> int:
    with closing(apsw.Connection(str(home / FILE), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.set_busy_timeout(5_000)
        found: int = connection.execute(query).get
        return found


def bare(path: Path, writes: int) -> float:
    """Runs in a second, when one is nothing but so many rows written and synced."""
    with closing(open_file(str(path))) as connection:
        connection.execute(
            "INSERT INTO runs (job_id, unique_id, workspace_id, created_at, status, version, body)"
            " VALUES ('a', 'a', 'acme', 0, 'queued', 1, ?)",
            (BODY,),
        )
        began = time.perf_counter()
        for _ in range(RUNS * writes):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE runs SET version = version + 1, body = ? WHERE job_id = 'a'", (BODY,))
            connection.execute("COMMIT")
        return RUNS / (time.perf_counter() - began)


def idle(home: Path, backend: str) -> float:
    """Percent of a core that a Lucius without work takes."""
    with lucius(home, environment={"LUCIUS_LIFEBOOK_BACKEND": backend}) as server:
        time.sleep(SETTLE_SECONDS)
        before = cpu_seconds(server.pid)
        time.sleep(IDLE_SECONDS)
        return 100 * (cpu_seconds(server.pid) - before) / IDLE_SECONDS
