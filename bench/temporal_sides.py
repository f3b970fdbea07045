"""What `bench.temporal` compares: Lucius with its temporal engine, and the bare workflow, on one server."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.processes import clean_environment, free_port, lucius, served


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two: a front process that takes jobs over HTTP, a worker process, a task queue."""

    name: str
    port: int
    task_queue: str
    front: int
    worker: int


@contextlib.contextmanager
def ours(home: Path, address: str) -> Iterator[Side]:
    """`lucius up --engine temporal` beside a server that runs: API, invoker and echo, and a worker."""
    queue = "bench-lucius"
    environment = {
        "LUCIUS_ENGINE": "temporal",
        "LUCIUS_TEMPORAL_ADDRESS": address,
        "LUCIUS_TEMPORAL_TASK_QUEUE": queue,
        "LUCIUS_INVOKER_PORT": str(free_port()),
    }
    with lucius(home, environment=environment) as server:
        worker = only_child(server.pid)
        yield Side(name="lucius", port=server.port, task_queue=queue, front=server.pid, worker=worker)


@contextlib.contextmanager
def bare(home: Path, address: str) -> Iterator[Side]:
    """The front and the worker of `bench.bare_temporal`."""
    queue, port = "bench-bare", free_port()
    arguments = [str(port), address, queue]
    with served(["bench.bare_temporal_front", *arguments], port, home) as server:
        with (home / "worker.log").open("wb") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "bench.bare_temporal_worker", *arguments], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=clean_environment(), start_new_session=True,
            )  # fmt: skip
        try:
            yield Side(name="bare", port=port, task_queue=queue, front=server.pid, worker=worker.pid)
        finally:
            worker.terminate()
            worker.wait(60)


def only_child(pid: int) -> int:
    """The one process that a process has started."""
    listed = [
        one for file in Path(f"/proc/{pid}/task").glob("*/children") for one in file.read_text().split()
    ]
    if len(listed) != 1:
        message = f"process {pid} has {len(listed)} children instead of one"
        raise RuntimeError(message)
    return int(listed[0])
