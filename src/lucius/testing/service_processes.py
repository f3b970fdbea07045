"""Real `lucius service` processes for tests: start, kill, look at their probes.

What a process says goes to a file. Everything stays on the loopback.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from lucius.testing.processes import HOST, await_that, free_port


class ServiceProcess:
    """One service in a process of its own; killed on the way out."""

    def __init__(
        self, target: str, url: str, directory: Path, *, environment: Mapping[str, str] | None = None
    ) -> None:
        self.log = directory / f"{target.replace(':', '.')}-{free_port()}.log"
        self.port = free_port()
        given = {
            "LUCIUS_URL": url,
            "LUCIUS_SERVICE_STORE": str(directory / f"{target.replace(':', '.')}.db"),
            "LUCIUS_SERVICE_HEALTH": f"{HOST}:{self.port}",
            "LUCIUS_SERVICE_CLAIM_SECONDS": "3",
        }
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "lucius.entrypoints.cli", "service", target],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=clean | given | dict(environment or {}),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def terminate(self) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def await_ready(self) -> None:
        """Wait until it has heard from Lucius and can work."""
        await_that(lambda: self.probe("/readyz")[0] == 200, f"{self.log.name} ready:\n{self.said()[-500:]}")

    def probe(self, path: str) -> tuple[int, str]:
        """Status and text of one of its probes; 0 while nobody listens."""
        try:
            with urlopen(f"http://{HOST}:{self.port}{path}", timeout=5) as answer:
                return int(answer.status), answer.read().decode()
        except URLError as error:
            return int(getattr(error, "code", 0) or 0), ""
        except OSError:
            return 0, ""

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        lines = self.probe("/metrics")[1].splitlines()
        return sum(float(line.split()[1]) for line in lines if line.split("{")[0].split(" ")[0] == name)

    def said(self) -> str:
        """Everything it has written."""
        return self.log.read_text(errors="replace")
