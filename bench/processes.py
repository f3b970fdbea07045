"""Servers as child processes, and what they cost: CPU time and memory from /proc."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

READY_WITHIN = 120.0
TICKS = os.sysconf("SC_CLK_TCK")


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A child process that listens."""

    port: int
    pid: int
    data: Path
    ready_seconds: float

    @property
    def ledger(self) -> str:
        """The file of its ledger."""
        return str(self.data / "ledger.db")

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        return cpu_seconds(self.pid)

    def rss_mb(self) -> float:
        """Resident memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        message = f"process {self.pid} has no memory: it has ended"
        raise RuntimeError(message)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def clean_environment() -> dict[str, str]:
    """Ours without settings of Lucius: those of the surrounding shell are for other servers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    return kept | {"LUCIUS_LOG_LEVEL": "warning"}


@contextlib.contextmanager
def lucius(
    home: Path,
    *,
    services: str = "echo",
    module: tuple[str, ...] = ("lucius.entrypoints.cli",),
    more: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> Iterator[Server]:
    """`lucius up`, ready, with more options at the end and more settings in its environment."""
    port = free_port()
    arguments = [*module, "up", "--host", "127.0.0.1", "--port", str(port), "--data", str(home)]
    arguments += ["--services", services, *more]
    with served(arguments, port, home, environment) as server:
        yield server


@contextlib.contextmanager
def noop(kind: str, home: Path) -> Iterator[Server]:
    """One of the baselines of `bench.noop`."""
    port = free_port()
    with served(["bench.noop", kind, str(port)], port, home) as server:
        yield server


@contextlib.contextmanager
def served(
    arguments: list[str], port: int, home: Path, environment: dict[str, str] | None = None
) -> Iterator[Server]:
    """A module of ours as a process that listens on a port, once it says that it is ready."""
    home.mkdir(parents=True, exist_ok=True)
    log = home / "server.log"
    with log.open("w+b") as out:
        started = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=clean_environment() | (environment or {}),
            start_new_session=True,
        )
        try:
            _await(child, port, log)
            yield Server(port=port, pid=child.pid, data=home, ready_seconds=time.perf_counter() - started)
        finally:
            child.terminate()
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _await(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until:
        if child.poll() is not None:
            message = f"the server ended with {child.returncode}:\n{log.read_text()[-3000:]}"
            raise RuntimeError(message)
        with contextlib.suppress(OSError):
            if (
                ask(port, "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")[9:12]
                == b"200"
            ):
                return
        time.sleep(0.02)
    message = f"the server was not ready within {READY_WITHIN:.0f} s"
    raise RuntimeError(message)


def ask(port: int, request: str) -> bytes:
    """One request on a connection of its own; the answer as it comes, once it is whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        wire.sendall(request.encode())
        return read_answer(wire)


def read_answer(wire: socket.socket) -> bytes:
    """Head and body of one answer with a Content-Length."""
    found = b""
    while True:
        part = wire.recv(65536)
        found += part
        end = found.find(b"\r\n\r\n")
        if end >= 0:
            at = found.lower().find(b"content-length:", 0, end)
            if len(found) >= end + 4 + (int(found[at + 15 : found.find(b"\r", at)]) if at >= 0 else 0):
                return found
        if not part:
            return found


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
