"""How the demo ends when it does not end well: Ctrl-C, a full disk, a directory that cannot be."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from lucius.entrypoints.cli.child import tail
from lucius.testing.processes import free_port
from tests.cli.conftest import PATIENCE, PROGRAM, Program, environment


def test_an_impatient_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    """Interrupted in the middle of its work, and again while it stops, the demo exits 130 and is all gone."""
    demo = subprocess.Popen(
        [*PROGRAM, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path), PYTHONUNBUFFERED="1"),
    )
    assert demo.stdout is not None
    for line in demo.stdout:
        if "picked up by a service" in line:
            break
    demo.send_signal(signal.SIGINT)
    demo.send_signal(signal.SIGINT)
    _, complaints = demo.communicate(timeout=PATIENCE)
    assert (demo.returncode, complaints) == (130, "")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_is_told_before_the_work(tmp_path: Path) -> None:
    """`--keep` below a file is refused at once, in a sentence."""
    (tmp_path / "file").touch()
    program = Program(f"http://127.0.0.1:{free_port()}", tmp_path)
    done = program("demo", "--keep", "file/kept", code=2)
    assert done.stdout == ""
    assert "file/kept cannot be used for --keep" in done.stderr


def test_an_empty_log_hints_at_the_disk(tmp_path: Path) -> None:
    """A server that could not write a word most likely had no room for it."""
    log = tmp_path / "server.log"
    log.touch()
    assert "full" in tail(log)
    log.write_text("the reason\n")
    assert tail(log) == "the reason"
