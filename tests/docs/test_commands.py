from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from lucius.entrypoints.cli.app import app
from lucius.scaffold.making import TEMPLATE
from tests.docs.pages import PAGES, ROOT, blocks, inline, name

_LUCIUS = re.compile(r"(?:^|[\s(|;&]|=\S* )lucius ([a-z-].*)$")
_END = re.compile(r"[|;&>#)]|\s\\$")
_MAKE = re.compile(r"^make ((?:[A-Z]+=\S+ |-\S+ )*)([a-z]+)")
_PROSE = {"lucius.yaml"}


def _lines(page: Path) -> list[str]:
    """Every line of code on a page that may hold a command."""
    shells = [block.text for block in blocks(page) if not block.info or block.info.startswith("sh")]
    fenced = [line.strip() for text in shells for line in text.replace("\\\n", " ").splitlines()]
    return fenced + inline(page)


def _commands(page: Path) -> list[list[str]]:
    """The words behind each `lucius`."""
    found = []
    for line in _lines(page):
        match = _LUCIUS.search(line.removeprefix("$ "))
        if match and match[1] not in _PROSE:
            words = shlex.split(_END.split(match[1])[0], posix=False)
            found.append(words)
    return found


def _problem(words: list[str]) -> str | None:
    """What is wrong with a command line, if anything."""
    command: Any = typer.main.get_command(app)
    rest = words[: words.index("--")] if "--" in words else list(words)  # behind it stands another program's
    while rest and hasattr(command, "commands"):
        if rest[0].startswith("-"):
            break
        nested = command.commands.get(rest[0])
        if nested is None:
            return f"no command {rest[0]}"
        command = nested
        rest.pop(0)
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    known |= {"--help", "-h"}
    wrong = [
        word for word in rest if word.startswith("-") and word != "-" and word.split("=")[0] not in known
    ]
    return f"no option {wrong}" if wrong else None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_on_a_page_exists(page: Path) -> None:
    """Whoever types what a page shows is understood."""
    wrong = {" ".join(words): problem for words in _commands(page) if (problem := _problem(words))}
    assert wrong == {}


def test_commands_are_found_and_judged() -> None:
    """The test above sees commands, and would see a wrong one."""
    start = ROOT / "docs" / "getting-started.md"
    assert ["jobs", "--tenant", "acme"] in _commands(start)
    assert sum(len(_commands(page)) for page in PAGES) > 60
    assert _problem(["jbos"]) is not None
    assert _problem(["jobs", "--tenat", "acme"]) is not None
    assert _problem(["dead-letters", "burn"]) is not None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_make_target_on_a_page_exists(page: Path) -> None:
    """`make …` as shown works."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    if page.name == "tutorial.md":  # its reader stands in a generated project
        makefile += (TEMPLATE / "project" / "Makefile.jinja").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = {match[2] for line in _lines(page) if (match := _MAKE.match(line))}
    assert named <= targets


def test_the_readme_shows_the_two_commands() -> None:
    """A newcomer finds `make demo` and `make test` in a block to copy."""
    first = next(block for block in blocks(ROOT / "README.md") if block.info == "sh")
    assert [line.split("#")[0].strip() for line in first.text.splitlines()] == ["make demo", "make test"]
