from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import ROOT, name, published

LOCKS = ("requirements.lock", "requirements-extras.lock")
ENTRY = re.compile(r"^(?P<spec>[A-Za-z0-9][^\s;]*==[^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")
# Homes and checkouts of one machine. Tests are left out: a hostile path there is a test's input.
MACHINE_PATH = re.compile(r"(?<![\w.~:/$}])/(?:home|Users|root|work)/[\w.-]+")
INDEX = re.compile(
    r"--(?:extra-)?index-url|--find-links|--trusted-host|pythonhosted\.org|://[^\s/]*@|file://"
)


def _entries(lock: str) -> dict[str, str]:
    """Each `name==version` of a lock with all of its continuation lines."""
    blocks: dict[str, str] = {}
    current = ""
    for line in (ROOT / lock).read_text(encoding="utf-8").splitlines():
        if match := ENTRY.match(line):
            current = match["spec"]
            blocks[current] = ""
        elif line and not line.startswith((" ", "#")):
            raise AssertionError(f"{lock} has a line that pins nothing: {line}")
        blocks[current] += line + "\n"
    return blocks


def _locked(lock: str) -> dict[str, str]:
    """Package name to version; of several for different platforms, the last."""
    return {canonicalize_name(spec.split("==")[0]): spec.split("==")[1] for spec in _entries(lock)}


def _wanted() -> list[Requirement]:
    """What pyproject.toml asks for in the core and in the dev group."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [
        Requirement(text) for text in project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    ]


def _recipe(target: str) -> tuple[list[str], list[str]]:
    """The prerequisites and the commands of a make target."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{target}:"))
    prerequisites = lines[start].split(":", 1)[1].split("##")[0].split()
    commands = []
    for line in lines[start + 1 :]:
        if not line.startswith("\t"):
            break
        commands.append(line.strip())
    return prerequisites, commands


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_hashes(lock: str) -> None:
    """What gets installed is what was resolved, byte for byte."""
    entries = _entries(lock)
    assert len(entries) > len(_wanted())
    assert [spec for spec, block in entries.items() if not HASH.search(block)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_name_no_package_index(lock: str) -> None:
    """A lock works with whatever index the machine is set up for."""
    assert INDEX.findall((ROOT / lock).read_text(encoding="utf-8")) == []


def test_the_lock_satisfies_the_project() -> None:
    """A dependency added to pyproject.toml without `make lock` is noticed here."""
    locked = _locked("requirements.lock")
    unmet = [
        str(wanted)
        for wanted in _wanted()
        if not wanted.specifier.contains(locked.get(canonicalize_name(wanted.name), "0"), prereleases=True)
    ]
    assert unmet == []


def test_the_locks_agree() -> None:
    """Adding an extra changes no version that the core was tested with."""
    core, extras = _locked("requirements.lock"), _locked("requirements-extras.lock")
    assert {package for package in core.keys() & extras.keys() if core[package] != extras[package]} == set()


def test_ci_runs_make_check_and_nothing_else() -> None:
    """What passes on a contributor's machine is what CI asks for."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in script if line and not line.startswith("#")]
    assert commands == ["set -euo pipefail", 'cd "$(dirname "${BASH_SOURCE[0]}")/.."', "exec make check"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_make_check_is_lint_types_architecture_and_tests() -> None:
    """`make check` leaves nothing out, and its tests are those of `make test`."""
    prerequisites, commands = _recipe("check")
    assert prerequisites == ["lint", "types", "imports", "test"]
    assert commands == []


def _findings(path: Path, pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern occurs in a file."""
    text = path.read_text(encoding="utf-8")
    return [f"{name(path)}: {match.group(0)}" for match in pattern.finditer(text)]


def test_no_file_names_one_machine() -> None:
    """Nothing in the project depends on a directory of the machine it was written on."""
    files = [path for path in published() if "tests" not in path.relative_to(ROOT).parts]
    assert len(files) > len(LOCKS)
    assert [finding for path in files for finding in _findings(path, MACHINE_PATH)] == []
