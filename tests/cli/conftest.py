"""A real `lucius up` for the command line's tests, and a way to call the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lucius.testing.processes import free_port

PROGRAM = [sys.executable, "-m", "lucius.entrypoints.cli"]
PATIENCE = 60.0


class Server:
    """A `lucius up` process that can be stopped, killed and started again on the same data."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.options = options
        self.start()

    def start(self) -> None:
        """Start and wait until it is ready."""
        log = (self.home / "server.log").open("ab")
        arguments = ["up", "--port", str(self.port), "--data", str(self.home / "data"), "--services", "echo"]
        arguments += self.options
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments], stdout=log, stderr=log, cwd=self.home, env=environment()
        )
        log.close()
        until = time.monotonic() + PATIENCE
        while not self.ready():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < until, self.log()

    def ready(self) -> bool:
        """Whether it takes jobs."""
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=1.0, trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False

    def stop(self) -> int:
        """Ask it to drain; its exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Take it away without a word."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def log(self) -> str:
        """What it said."""
        return (self.home / "server.log").read_text()


class Program:
    """The real program, pointed at one server."""

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        self.home = home

    def __call__(
        self, *arguments: str, stdin: str | None = None, code: int = 0, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end and expect this exit code."""
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            cwd=self.home,
            env=environment(LUCIUS_URL=self.url, **env),
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run it with --json; the one document on stdout."""
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def open(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it and go on."""
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home,
            env=environment(LUCIUS_URL=self.url),
        )


def environment(**more: str) -> dict[str, str]:
    """This process's environment without anything that steers Lucius."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    return inherited | {"PYTHONPATH": os.pathsep.join(sys.path)} | more


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Lucius for the tests of a module."""
    running = Server(tmp_path_factory.mktemp("lucius"))
    yield running
    assert running.stop() == 0, running.log()


@pytest.fixture
def lucius(server: Server, tmp_path: Path) -> Program:
    """The program, in an empty directory below what the server lets `file:` name."""
    home = server.home / tmp_path.name
    home.mkdir()
    return Program(server.url, home)
