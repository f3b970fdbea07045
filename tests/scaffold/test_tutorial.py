from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lucius.testing.processes import Caller, await_that, free_port
from tests.docs.pages import ROOT, Block, blocks
from tests.docs.shell import matches, shell_home
from tests.scaffold.terminals import NOT_OURS, Shell, Terminal

PAGE = ROOT / "docs" / "tutorial.md"
ONLY_READ = {"sh", "mermaid"}
"""Blocks for machines that have what a test machine may not have."""


class Reader:
    """Does what the page says, in its order."""

    def __init__(self, directory: Path) -> None:
        home = shell_home(directory)
        self.port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
        environment |= {
            "PATH": f"{home / '.programs'}{os.pathsep}{environment['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "LUCIUS_PORT": str(self.port),
            "LUCIUS_URL": f"http://127.0.0.1:{self.port}",
        }
        self.here = Shell(home, environment)
        self.stays = {
            name: Terminal(home, environment, directory / f"{name}.log") for name in ("server", "service")
        }
        self._last: tuple[str, str] = ("", "")

    def follow(self, block: Block) -> None:
        """One block: type it, change a file, or compare what is seen."""
        kind, _, rest = block.info.partition(" ")
        if kind == "sh" and rest in {"here", "fails"}:
            code, seen = self.here.type(block.text)
            assert (code != 0) is (rest == "fails"), (
                f"{block.text}\nended with {code}:\n{seen}\n{self.said()}"
            )
            self._last = (block.text, seen)
        elif kind == "sh" and rest in self.stays:
            self.stays[rest].type(block.text)
            if rest == "server":
                await_that(self._up, f"Lucius\n{self.said()}")
        elif block.info == "text output":
            assert matches(block.text, self._last[1]), f"{self._last[0]}\nwrote:\n{self._last[1]}"
        elif kind == "text" and rest in self.stays:
            self.stays[rest].says(block.text)
        elif kind == "diff":
            change(self.here.folder() / rest, block.text)
        elif kind in {"python", "yaml"}:
            assert block.text in (self.here.folder() / rest).read_text("utf-8"), f"{rest} differs"
        else:
            assert block.info in ONLY_READ, f"a block marked {block.info!r}"

    def said(self) -> str:
        """What the two programs in the background wrote."""
        return "\n".join(terminal.written()[-3000:] for terminal in self.stays.values())

    def close(self) -> None:
        """Close all terminals."""
        with ExitStack() as stack:
            stack.callback(self.here.close)
            for terminal in self.stays.values():
                stack.callback(terminal.interrupt, signal.SIGKILL)

    def _up(self) -> bool:
        try:
            with Caller(self.port, timeout=5.0) as caller:
                return caller.get("/readyz")[0] == 200
        except (OSError, ValueError):
            return False


def change(path: Path, diff: str) -> None:
    """Edit a file as a reader would: lines with - make way for lines with +."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] or "\n" for line in lines if line[0] != "+")
    new = "".join(line[1:] or "\n" for line in lines if line[0] != "-")
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{path.name} has these lines {text.count(old)} times:\n{old}"
    path.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A new user in an empty folder."""
    somebody = Reader(tmp_path)
    yield somebody
    somebody.close()


def test_the_tutorial_works_word_for_word(reader: Reader) -> None:
    """Every command, edit and output of the page, in its order, on a real Lucius."""
    for block in blocks(PAGE):
        reader.follow(block)


def test_the_tutorial_leaves_little_unproven() -> None:
    """Only what needs Docker or a fresh checkout is shown without being run."""
    kinds = [block.info for block in blocks(PAGE)]
    assert kinds.count("sh") <= 3
    assert sum(kind in {"sh here", "sh fails", "sh server", "sh service"} for kind in kinds) >= 12
