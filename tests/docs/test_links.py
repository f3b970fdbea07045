from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, name


def test_there_are_pages_with_links() -> None:
    """The tests below look at something."""
    assert sum(len(links(page)) for page in PAGES) > 50


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """A link names a file that is there, and a heading that is in it."""
    broken = []
    for link in links(page):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_stay_in_the_project(page: Path) -> None:
    """What a page refers to comes with the project."""
    targets = [link.partition("#")[0] for link in links(page) if "://" not in link]
    outside = [path for path in targets if not (page.parent / path).resolve().is_relative_to(ROOT)]
    assert outside == []


def test_the_index_names_every_page() -> None:
    """docs/README.md leads to each page beside it."""
    index = ROOT / "docs" / "README.md"
    listed = {link.partition("#")[0] for link in links(index)}
    assert {page.name for page in index.parent.glob("*.md")} - {"README.md"} <= listed
