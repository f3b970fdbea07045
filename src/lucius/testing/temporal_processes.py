"""A Lucius on Temporal as real processes, for tests: start, kill and restart each of them by name.

    temporal   the server          worker      `lucius temporal-worker`
    api        `lucius api`        invoker-1   `lucius invoker`, and as many more as were asked for

State: one directory; every process keeps its port over restarts. Echo plays the services inside the API's
process unless the options say otherwise. What a process says goes to a file of its own beside the data.

How it fails: a process that ends before it is ready, or is not ready in time, raises with its last words.
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lucius.testing.processes import HOST, READY_WITHIN, Caller, free_port
from lucius.testing.temporal import TemporalServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

LOOK = 0.02
"""Seconds between two looks: several processes start side by side."""
TEMPORAL, WORKER, API = "temporal", "worker", "api"


class LuciusProcess:
    """One command that answers `/readyz` on a port; at most one process of it runs at a time."""

    def __init__(
        self, log: Path, *words: str, port: int, environment: Mapping[str, str], ready_port: int | None = None
    ) -> None:
        self.log = log
        self.port = port
        self._words = words
        self._environment = dict(environment)
        self._ready_port = ready_port or port
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the process that runs."""
        assert self.process is not None, f"{self._words[0]} does not run"
        return self.process.pid

    def start(self, *options: str, ready: bool = True) -> None:
        """Start it; wait until it is ready, or do not."""
        assert self.process is None, f"{self._words[0]} still runs"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "lucius.entrypoints.cli", *self._words, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=inherited | self._environment,
            )
        if ready:
            self.await_ready()

    def await_ready(self) -> None:
        """Wait until `/readyz` says so."""
        assert self.process is not None
        deadline = time.monotonic() + READY_WITHIN
        while self.ready_status() != http.HTTPStatus.OK:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"{self._words[0]} ended with {self.process.returncode}:\n{self.said()[-2000:]}"
                )
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self._words[0]} was not ready:\n{self.said()[-2000:]}")
            time.sleep(LOOK)

    def ready_status(self) -> int:
        """What `/readyz` answers; 0 if nobody does."""
        connection = http.client.HTTPConnection(HOST, self._ready_port, timeout=5.0)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def kill(self) -> None:
        """SIGKILL, no goodbye; nothing happens if it does not run."""
        self.end(signal.SIGKILL)

    def terminate(self) -> int:
        """Ask it to stop; its exit code."""
        return self.end(signal.SIGTERM)

    def end(self, by: signal.Signals, within: float = 60.0) -> int:
        """Send a signal and wait for the end; the exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(by)
        code = self.process.wait(within)
        self.process = None
        return code

    def said(self) -> str:
        """Everything its processes have written."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class TemporalProcesses:
    """All processes of one Lucius on one data directory. `kill`, `start` and `restart` take a name."""

    def __init__(
        self,
        directory: Path,
        *,
        invokers: int = 1,
        api_options: tuple[str, ...] = ("--services", "echo"),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data = directory / "data"
        self.server = TemporalServer(directory)
        self.port = free_port()
        ports = [free_port() for _ in range(invokers)]
        health = free_port()
        told = {
            "LUCIUS_ENGINE": "temporal",
            "LUCIUS_DATA": str(self.data),
            "LUCIUS_HOST": HOST,
            "LUCIUS_PORT": str(self.port),
            "LUCIUS_TEMPORAL_ADDRESS": self.server.address,
            "LUCIUS_INVOKER_URL": ",".join(f"http://{HOST}:{port}" for port in ports),
            "LUCIUS_TEMPORAL_WORKER_HEALTH": f"{HOST}:{health}",
            "LUCIUS_DRAIN_SECONDS": "5",
            "LUCIUS_LOG_STYLE": "json",
            **(environment or {}),
        }

        def process(name: str, *words: str, port: int) -> LuciusProcess:
            return LuciusProcess(directory / f"{name}.log", *words, port=port, environment=told)

        self.api = process(API, "api", *api_options, port=self.port)
        self.worker = process(WORKER, "temporal-worker", port=health)
        self.invokers = [
            process(f"invoker-{number}", "invoker", "--port", str(port), port=port)
            for number, port in enumerate(ports, start=1)
        ]
        self._named = {API: self.api, WORKER: self.worker} | {
            f"invoker-{number}": one for number, one in enumerate(self.invokers, start=1)
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill_all()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all processes."""
        return (TEMPORAL, *self._named)

    def start_all(self) -> None:
        """Start what does not run, and wait until all of it is ready."""
        if not self.server.running:
            self.server.start()
        waiting = [one for one in self._named.values() if one.process is None]
        for one in waiting:
            one.start(ready=False)
        for one in waiting:
            one.await_ready()

    def start(self, name: str, *, ready: bool = True) -> None:
        """Start one."""
        if name == TEMPORAL:
            self.server.start()
        else:
            self._named[name].start(ready=ready)

    def kill(self, name: str) -> None:
        """End one as a power cut would."""
        (self.server if name == TEMPORAL else self._named[name]).kill()

    def restart(self, name: str) -> None:
        """Kill one, and start it again."""
        self.kill(name)
        self.start(name)

    def kill_all(self) -> None:
        """Leave nothing behind."""
        for one in self._named.values():
            one.kill()
        self.server.kill()

    def terminate_all(self) -> dict[str, int]:
        """Stop all in their order, the server last; exit codes by name."""
        order = [API, WORKER, *(name for name in self._named if name.startswith("invoker-"))]
        codes = {name: self._named[name].terminate() for name in order}
        self.server.kill()
        return codes

    def caller(self) -> Caller:
        """A connection of its own to the API."""
        return Caller(self.port)

    @contextmanager
    def calling(self) -> Iterator[Caller]:
        """A connection for a block."""
        with self.caller() as caller:
            yield caller

    def said(self) -> str:
        """The last words of everybody."""
        return "\n".join(f"== {name}\n{one.said()[-3000:]}" for name, one in self._named.items())
