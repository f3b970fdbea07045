"""A generated project, and programs run in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lucius.scaffold import make
from tests.scaffold.terminals import NOT_OURS

PATIENCE = 120.0


class Project:
    """The folder of one generated service."""

    def __init__(self, folder: Path, package: str) -> None:
        self.folder = folder
        self.package = package
        self.target = f"{package}.service:execute"

    def environment(self, **more: str) -> dict[str, str]:
        """This environment's packages and the project's own; nothing that steers Lucius."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
        paths = [str(self.folder / "src"), *filter(None, sys.path)]
        return inherited | {"PYTHONPATH": os.pathsep.join(paths)} | more

    def run(self, *arguments: str, code: int = 0, **more: str) -> str:
        """Run this interpreter in the folder and expect an exit code; what it wrote."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def files(self) -> dict[str, str]:
        """Every file that was generated, by its path in the folder."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_text("utf-8") for path in sorted(found)}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """`lucius new-service word-count`."""
    return Project(make("word-count", tmp_path), "word_count")
