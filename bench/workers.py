"""Services as child processes: the SDK's and the bare loop, on jobs of one step each.

All of them run beside one Lucius for the whole measurement, each with a step type of its own. They are
stopped (SIGSTOP) while jobs are submitted and go on when the last one lies ready: what is timed is the
service, not the submits.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec

from bench.jobs import drained
from bench.load import Spec, load
from bench.orders import SLOT, TENANTS, post
from bench.processes import Server, clean_environment, cpu_seconds

PROTOCOL = """
request_type: {name}
version: 1
description: One step for a benchmark.
steps:
  - step_id: work
    step_type: {name}
    service: bench
    ack_timeout: 60s
    lease: 5m
    max_execution_attempts: 1
    payload_schema: {{type: object}}
"""


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A child process that serves one step type."""

    step_type: str
    command: tuple[str, ...]
    """What comes after `python -m`; `{port}` and `{home}` are filled in."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of steps took."""

    rate: float
    cpu_ms: float


SDK = ("lucius.entrypoints.cli", "service", "--url", "http://127.0.0.1:{port}")
NOTHING = Worker(
    step_type="SDK_NOTHING", command=(*SDK, "--store", "{home}/nothing.db", "bench.worker:nothing")
)
FILE = Worker(step_type="SDK_FILE", command=(*SDK, "--store", "{home}/file.db", "bench.worker:file"))
BARE_NOTHING = Worker(step_type="BARE_NOTHING", command=("bench.bare", "{port}", "BARE_NOTHING", "-"))
BARE_FILE = Worker(step_type="BARE_FILE", command=("bench.bare", "{port}", "BARE_FILE", "write"))
ALL = (NOTHING, FILE, BARE_NOTHING, BARE_FILE)


def write_config(home: Path) -> tuple[str, ...]:
    """A protocol for every worker; the options that make `lucius up` read it."""
    folder = home / "config" / "protocols"
    folder.mkdir(parents=True)
    for worker in ALL:
        (folder / f"{worker.step_type.lower()}.yaml").write_text(PROTOCOL.format(name=worker.step_type))
    return "--config", str(home / "config"), "--files", str(home)


def order(worker: Worker, server: Server, home: Path, tenant: str = TENANTS[0]) -> str:
    """A submit of one step, SLOT still in it."""
    body = {
        "tenant_id": tenant,
        "request_type": worker.step_type,
        "input_ref": {"uri": f"file://{home}/inbox/{SLOT}.txt"},
        "output_ref": {"uri": f"file://{home}/{worker.step_type}/{SLOT}/"},
        "payload": {"work": {}},
        "schema_version": "1",
    }
    return post("/v1/orchestrate", body, server.port)


@contextlib.contextmanager
def child(worker: Worker, server: Server, home: Path) -> Iterator[int]:
    """The worker's process id, until the end."""
    arguments = [part.format(port=server.port, home=home) for part in worker.command]
    environment = clean_environment() | {"LUCIUS_SERVICE_LOG_LEVEL": "warning"}
    with (home / f"{worker.step_type}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()


def serve(worker: Worker, pid: int, server: Server, home: Path, *, first: int, steps: int) -> Done:
    """Let the worker do so many steps that lie ready."""
    requests = [order(worker, server, home, tenant) for tenant in TENANTS]
    os.kill(pid, signal.SIGSTOP)
    try:
        load(Spec(port=server.port, requests=requests, count=steps, connections=32, first=first), expect=202)
        cpu, began = cpu_seconds(pid), time.time()
    finally:
        os.kill(pid, signal.SIGCONT)
    seconds = drained(server) - began
    _check(server)
    return Done(rate=steps / seconds, cpu_ms=1000 * (cpu_seconds(pid) - cpu) / steps)


def _check(server: Server) -> None:
    """Whoever fails quickly must not count as quick."""
    reader = apsw.Connection(server.ledger, flags=apsw.SQLITE_OPEN_READONLY)
    reader.set_busy_timeout(5000)
    failed = reader.execute("SELECT count(*), min(error_message) FROM jobs WHERE state <> 'SUCCEEDED'").get
    reader.close()
    if failed[0]:
        message = f"{failed[0]} steps did not succeed: {failed[1]}"
        raise RuntimeError(message)
