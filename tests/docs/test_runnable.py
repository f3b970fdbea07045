from __future__ import annotations

from pathlib import Path

import pytest

from lucius.testing.processes import Server, free_port
from tests.docs.pages import PAGES, ROOT, blocks, name, server_options
from tests.docs.shell import matches, pairs, run, shell_home

RUNNABLE = [page for page in PAGES if any(block.info == "sh run" for block in blocks(page))]
PORT_ON_PAGES = "9155"


def test_the_pages_a_newcomer_reads_are_run() -> None:
    """The pages with commands to copy are among those that the next test runs."""
    assert {"getting-started.md", "services.md", "webhooks.md", "operations.md"} <= {p.name for p in RUNNABLE}


@pytest.mark.parametrize("page", RUNNABLE, ids=name)
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    """Every block marked `sh run` works on a real Lucius, and writes what the page says it writes."""
    home = shell_home(tmp_path)
    options = [str(ROOT / word) if word.startswith("examples/") else word for word in server_options(page)]
    shown = pairs(blocks(page))
    script = [text.replace(PORT_ON_PAGES, str(free_port())) for text, _ in shown]
    with Server(tmp_path, "--files", str(home), *options) as server:
        server.start()
        written = run(script, home, server)
    assert len(written) == len(shown)
    for (text, expected), seen in zip(shown, written, strict=True):
        assert expected is None or matches(expected, seen), f"{text}\nwrote:\n{seen}"


@pytest.mark.parametrize(
    ("expected", "seen", "same"),
    [
        ("…\nb …\n", "a\nb 2\n", True),
        ("…\nb …\n", "b 2\n", True),
        ("a\n", "a   \n\n", True),
        ("a\n…\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("b …\n", "c 2\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_output_is_compared_line_by_line(expected: str, seen: str, same: bool) -> None:
    """`…` stands for anything, everything else for itself."""
    assert matches(expected, seen) is same
