"""A real Temporal server for tests: start, kill, start again on the same port and file.

State: a `TemporalServer` is a directory and a port; at most one process of it runs at a time. It ends with
the process that started it, however that ends. Tests that share one keep apart by task queues and
workflow ids of their own.

How it fails: a server that ends before it answers, or does not answer in time, raises with its last words.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from lucius.errors import Unavailable
from lucius.runtime.temporal_server import HOST, await_server, binary, environment, server_command
from lucius.testing.processes import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

READY_WITHIN = 60.0
"""Seconds after which a start counts as hung; generous, for machines that do much else."""


class TemporalServer:
    """A server that can be started again and again. Its methods block: on an event loop, use a thread."""

    def __init__(self, directory: Path, *, port: int | None = None, namespace: str = "default") -> None:
        self.file = directory / "temporal.db"
        self.log = directory / "temporal.log"
        self.port = free_port() if port is None else port
        self._namespace = namespace
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """`HOST:PORT`, the same for all its processes."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The server's own process."""
        assert self._process is not None, "this server does not run"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it was started and not killed."""
        return self._process is not None

    def start(self) -> None:
        """Start a process, and wait until it takes requests."""
        assert self._process is None, "a process of this server still runs"
        command = server_command(binary(), port=self.port, file=self.file, namespace=self._namespace)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the program of the extra
                command,
                stdin=subprocess.PIPE,  # never written to: it ends when this process does
                stdout=log,
                stderr=log,
                env=environment(os.environ),
                start_new_session=True,
            )
        # On a thread: the caller may have an event loop of its own.
        with ThreadPoolExecutor(1) as pool:
            if not pool.submit(asyncio.run, _answers(self._process, self.address)).result():
                self.kill()
                raise RuntimeError(f"Temporal did not start at {self.address}:\n{self.said()[-2000:]}")

    def kill(self) -> None:
        """End the process as a power cut would end it; nothing happens if none runs."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None

    def said(self) -> str:
        """Everything its processes have written."""
        return self.log.read_text(errors="replace")


async def _answers(process: subprocess.Popen[bytes], address: str) -> bool:
    """Wait until the server takes requests; False if its process ended or does not get there."""
    deadline = time.monotonic() + READY_WITHIN
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(Unavailable):
            await await_server(address, patience=1.0)
            return process.poll() is None
    return False


@contextlib.contextmanager
def temporal_server(
    directory: Path, *, port: int | None = None, namespace: str = "default"
) -> Iterator[TemporalServer]:
    """A running server that keeps its workflows in a directory, for a block."""
    server = TemporalServer(directory, port=port, namespace=namespace)
    try:
        server.start()
        yield server
    finally:
        server.kill()
