"""Runs the blocks of a page in one shell, beside a real Lucius."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.pages import ROOT, Block

if TYPE_CHECKING:
    from lucius.testing.processes import Server

PATIENCE = 120.0
_MARK = "\x1e"


def shell_home(directory: Path) -> Path:
    """A directory to stand in, with the examples in it, and programs by the names that pages use."""
    home = directory / "home"
    programs = home / ".programs"
    programs.mkdir(parents=True)
    (home / "examples").symlink_to(ROOT / "examples")
    _program(programs / "lucius", "-m lucius.entrypoints.cli")
    _program(programs / "python", "")
    _program(programs / "python3", "")
    if shutil.which("curl") is None:
        _program(programs / "curl", str(Path(__file__).with_name("curl.py")))
    return home


def run(script: list[str], home: Path, server: Server) -> list[str]:
    """Run the blocks one after the other in one shell; what each wrote."""
    told = f"printf '{_MARK}'\n"
    text = "set -euo pipefail\n" + "".join(f"{told}{block}\n" for block in script)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    environment |= {
        "PATH": f"{home / '.programs'}{os.pathsep}{environment['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "LUCIUS_URL": f"http://127.0.0.1:{server.port}",
        "LUCIUS_DATA": str(server.data),
    }
    shell = subprocess.Popen(
        ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=home, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        out, errors = shell.communicate(text, PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)  # the shell, and what it left in the background
        out, errors = shell.communicate()
        raise AssertionError(f"the page did not end in time:\n{out}\n{errors}") from None
    assert shell.returncode == 0, f"the page ended with {shell.returncode}:\n{out}\n{errors}"
    return out.split(_MARK)[1:]


def matches(expected: str, seen: str) -> bool:
    """Whether output is as shown: `…` alone on a line is any lines, inside a line any text."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += re.escape(line.rstrip()).replace("…", r"[^\n]*") + "\n"
    lines = "".join(f"{line.rstrip()}\n" for line in seen.strip("\n").splitlines())
    return re.fullmatch(pattern, lines) is not None


def pairs(found: list[Block]) -> list[tuple[str, str | None]]:
    """Each block to run, with the output that stands right below it."""
    told: list[tuple[str, str | None]] = []
    for block in found:
        if block.info == "sh run":
            told.append((block.text, None))
        elif block.info == "text output":
            told[-1] = (told[-1][0], block.text)
    return told


def _program(path: Path, arguments: str) -> None:
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
