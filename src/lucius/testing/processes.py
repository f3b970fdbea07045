"""Real `lucius up` processes for tests: start, wait until ready, kill, start again on the same data.

State: a `Server` is a data directory and a port; at most one process of it runs at a time. What the
process says goes to a file beside the data. Everything stays on the loopback.

How it fails: a process that ends before it is ready, or is not ready in time, raises with its last words.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Self

HOST = "127.0.0.1"
READY_WITHIN = 60.0
"""Seconds after which a start counts as hung; generous, for machines that do much else."""
POLL = 0.005
DEFAULTS = ("--services", "echo")
"""What a test means that does not say otherwise: a later option of the same name wins."""


_PORTS = range(12_000, 32_000)
"""Below what systems give to outgoing connections: a server that is killed finds its port again."""
_tried = count()


def free_port() -> int:
    """A port nobody listens on right now; never the same one twice in a process."""
    # Test processes that run side by side begin at places far apart, each at one of its own.
    first = os.getpid() * 211
    for _ in _PORTS:
        port = _PORTS[(first + next(_tried)) % len(_PORTS)]
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise RuntimeError(f"no port of {_PORTS} is free")


def alive(pid: int) -> bool:
    """Whether a process runs: a dead one whose parent has not looked counts as dead."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False, text=True)  # noqa: S603, S607
    return bool(found.stdout.strip()) and not found.stdout.strip().startswith("Z")


class Caller:
    """One keep-alive HTTP connection that speaks JSON."""

    def __init__(self, port: int, timeout: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and document of one request; an `OSError` or `HTTPException` when nobody answers."""
        raw = None if body is None else json.dumps(body).encode()
        given = {"content-type": "application/json", **(headers or {})}
        try:
            self._connection.request(method, path, raw, given)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        return answer.status, json.loads(text) if text else None

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        """`POST`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, body, named)

    def get(self, path: str) -> tuple[int, Any]:
        """`GET`."""
        return self.ask("GET", path)


class Server:
    """A Lucius that can be started again and again."""

    def __init__(self, directory: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.data = directory / "data"
        self.log = directory / "log"
        self.port = free_port()
        self._options = options
        self._environment = dict(environment or {})
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self, *options: str, before: Callable[[], None] | None = None, ready: bool = True) -> float:
        """Start a process; the seconds until it was ready. `before` runs in the child before Lucius."""
        assert self.process is None, "a process of this server still runs"
        began = time.monotonic()
        command = [
            sys.executable, "-m", "lucius.entrypoints.cli", "up", "--host", HOST,
            "--port", str(self.port), "--data", str(self.data), *DEFAULTS, *self._options, *options,
        ]  # fmt: skip
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment | self._environment,
                preexec_fn=before,  # noqa: PLW1509 - only resource limits are set there
            )
        if ready:
            self._await_ready(began + READY_WITHIN)
        return time.monotonic() - began

    def kill(self) -> None:
        """End the process as a power cut would end it: SIGKILL, no goodbye."""
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        """Ask it to stop; its exit code."""
        return self._end(signal.SIGTERM)

    def ended(self, within: float = 60.0) -> int:
        """Wait for the process to end by itself; its exit code."""
        assert self.process is not None, "no process of this server runs"
        code = self.process.wait(within)
        self.process = None
        return code

    def caller(self) -> Caller:
        """A connection of its own."""
        return Caller(self.port)

    def said(self) -> str:
        """Everything its processes have written."""
        return self.log.read_text(errors="replace")

    @contextlib.contextmanager
    def calling(self) -> Iterator[Caller]:
        """A connection for a block."""
        with self.caller() as caller:
            yield caller

    def _end(self, with_signal: signal.Signals) -> int:
        if self.process is None:
            return 0
        self.process.send_signal(with_signal)
        return self.ended()

    def _await_ready(self, deadline: float) -> None:
        assert self.process is not None
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"Lucius ended with {self.process.returncode}:\n{self.said()[-2000:]}")
            try:
                with Caller(self.port, timeout=5.0) as caller:
                    if caller.get("/readyz")[0] == http.HTTPStatus.OK:
                        return
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(POLL)
        raise RuntimeError(f"Lucius was not ready in {READY_WITHIN:.0f} s:\n{self.said()[-2000:]}")


def await_that(condition: Callable[[], bool], what: str, within: float = 120.0) -> None:
    """Look until something holds; raises with `what` when it does not in time."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {within:.0f} s in vain for: {what}")
        time.sleep(POLL)
