"""The pages of the project: their links, headings and code blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_SERVER = re.compile(r"<!-- server: lucius up(.*?) ?-->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: what follows the fence, and the text."""

    info: str
    text: str


def name(page: Path) -> str:
    """The page's path below the root."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks in their order."""
    return [Block(info=info.strip(), text=text) for info, text in _FENCE.findall(page.read_text("utf-8"))]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text("utf-8"))


def inline(page: Path) -> list[str]:
    """Code within sentences and tables."""
    return _INLINE.findall(prose(page))


def links(page: Path) -> list[str]:
    """Targets of links and pictures."""
    return _LINK.findall(_INLINE.sub("", prose(page)))


def anchors(page: Path) -> set[str]:
    """What may follow `#` in a link to the page, as GitHub makes it from headings."""
    titles = (heading.replace("`", "").lower() for heading in _HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in titles}


def server_options(page: Path) -> list[str]:
    """How the Lucius is started that the page's blocks are run against."""
    (found,) = _SERVER.findall(page.read_text("utf-8"))
    return str(found).split()
