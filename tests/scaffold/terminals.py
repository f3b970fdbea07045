"""The terminals of a reader who follows the tutorial, word for word.

One shell takes the commands that end (`sh here`); it keeps its folder and its variables. A command that
stays (`sh server`, `sh service`) gets a terminal of its own: typing there again means Ctrl-C first.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import threading
from pathlib import Path

from lucius.testing.processes import await_that

PATIENCE = 150.0
_MARK = "\x1e"


NOT_OURS = ("LUCIUS_", "MAKE", "MFLAGS")
"""What a reader's shell does not have: settings of ours, and the make that may run these tests."""


class Shell:
    """A bash that is told one block after the other."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, cwd=home, env=environment, start_new_session=True,
        )  # fmt: skip

    def type(self, text: str) -> tuple[int, str]:
        """Run a block to its end; its exit code and what it wrote."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{text}\nprintf '{_MARK}%s {_MARK}\\n' $?\n")
        self._process.stdin.flush()
        watch = threading.Timer(PATIENCE, os.killpg, (self._process.pid, signal.SIGKILL))
        watch.start()
        seen = ""
        while (found := re.search(f"{_MARK}(\\d+) {_MARK}\n", seen)) is None:
            line = self._process.stdout.readline()
            assert line, f"{text}\ndid not end, or ended the shell:\n{seen}"
            seen += line
        watch.cancel()
        return int(found[1]), seen[: found.start()]

    def folder(self) -> Path:
        """Where it stands."""
        return Path(self.type("pwd")[1].strip())

    def close(self) -> None:
        """End it with everything it started."""
        _end(self._process, signal.SIGKILL)


class Terminal:
    """Where something runs until it is interrupted."""

    def __init__(self, home: Path, environment: dict[str, str], log: Path) -> None:
        self._folder = home
        self._environment = environment
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def type(self, text: str) -> None:
        """Ctrl-C, and then these lines: `cd` for good, the last one to stay."""
        self.interrupt()
        *before, last = text.strip().splitlines()
        for line in before:
            word, place = shlex.split(line)
            assert word == "cd", f"{line} is not understood here"
            self._folder /= place
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", last], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self._folder, env=self._environment, start_new_session=True,
            )  # fmt: skip

    def says(self, expected: str) -> None:
        """Wait until each of these lines was written; `…` is any text."""
        for line in expected.splitlines():
            pattern = re.escape(line.strip()).replace("…", r"[^\n]*")
            await_that(lambda wanted=pattern: re.search(wanted, self.written()) is not None, line)  # type: ignore[misc]

    def written(self) -> str:
        """Everything that was written here."""
        return self._log.read_text("utf-8", errors="replace") if self._log.exists() else ""

    def interrupt(self, with_signal: signal.Signals = signal.SIGINT) -> None:
        """Ctrl-C, and wait until it has ended."""
        if self._process is not None:
            _end(self._process, with_signal)
            self._process = None


def _end(process: subprocess.Popen[bytes] | subprocess.Popen[str], with_signal: signal.Signals) -> None:
    if process.poll() is None:
        os.killpg(process.pid, with_signal)
    process.wait(PATIENCE)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
