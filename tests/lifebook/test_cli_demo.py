"""`lucius lifebook demo`, as people start it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = [sys.executable, "-m", "lucius.entrypoints.cli", "lifebook", "demo"]


def test_the_demo_shows_a_run_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """On a terminal of 80 columns: progress, the wait, the story, credits, the one event, what is next."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    env |= {"TMPDIR": str(tmp_path), "COLUMNS": "80", "TERM": "xterm-256color", "NO_COLOR": "1"}
    demo = subprocess.Popen(PROGRAM, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=env)
    os.close(theirs)
    said = _all(ours)
    assert demo.wait(60) == 0, said
    assert "2 of 4 steps · attempt 1 of 5 · 2.00 of 4.50 credits" in said
    assert "EXAMPLE_FAILURE · again in" in said
    assert "attempt 2 of 5 goes on here" in said
    story = " ".join(said[said.index("Its story:") :].split())
    assert "goes on with step 3, enrich; collect, extract are not run again" in story
    assert "4.50 reserved, 4.50 spent, 0.00 refunded." in story
    assert story.count("workflow_run_completed") == 1
    assert "lifebook run example-four-steps" in story
    assert list(tmp_path.iterdir()) == []


def _all(terminal: int) -> str:
    """Everything that is written to a terminal, until its last writer is gone."""
    read = b""
    while True:
        try:
            read += os.read(terminal, 65_536)
        except OSError:
            os.close(terminal)
            return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", read.decode())
