"""The document as SIS sees it: chunks with vectors, and the pages they were cut from.

State: made once an attempt, then only read. Where the text of the pages is not at hand it is put together
from the chunks, which hold every printed character.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from lucius.services.text.chunks import Chunk
from lucius.services.text.sentences import sentences
from lucius.services.text.words import Index

if TYPE_CHECKING:
    from lucius.services.text.vectors import Matrix

_AROUND: Final = 200
"""Characters on either side of a chunk in which a value may begin or end."""


class Corpus:
    """Everything the answers are found in."""

    def __init__(self, *, chunks: Sequence[Chunk], vectors: Matrix, pages: Mapping[int, str]) -> None:
        self.chunks = chunks
        self.vectors = vectors
        self.pages = pages
        self.index = Index([chunk.text for chunk in chunks])
        self._sentences: dict[int, list[tuple[int, int]]] = {}

    def window(self, chunk: Chunk) -> tuple[int, str]:
        """A chunk with a little text on either side, and where on its page that begins."""
        page = self.pages[chunk.page]
        begin = max(0, chunk.start - _AROUND)
        return begin, page[begin : chunk.end + _AROUND]

    def sentences(self, chunk: Chunk) -> list[tuple[int, int]]:
        """The whole sentences of the page that touch a chunk."""
        spans = self._sentences.get(chunk.page)
        if spans is None:
            spans = self._sentences[chunk.page] = sentences(self.pages[chunk.page])
        first = bisect_left(spans, chunk.start + 1, key=lambda span: span[1])
        last = bisect_left(spans, chunk.end, key=lambda span: span[0])
        return spans[first:last]

    def after(self, page: int, end: int) -> tuple[int, int] | None:
        """The sentence that follows on the same page."""
        spans = self._sentences.get(page, [])
        found = bisect_left(spans, end, key=lambda span: span[0])
        return spans[found] if found < len(spans) else None


def fits(chunks: Sequence[Chunk], pages: Mapping[int, str]) -> bool:
    """Whether the chunks were cut from these pages."""
    return all(pages.get(chunk.page, "")[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def rebuilt(chunks: Sequence[Chunk]) -> tuple[list[Chunk], dict[int, str]]:
    """Chunks and the pages they make; chunks whose offsets cannot be true are put one after the other."""
    by_page: dict[int, list[Chunk]] = {}
    for chunk in chunks:
        by_page.setdefault(chunk.page, []).append(chunk)
    if all(_true(held) for held in by_page.values()):
        return list(chunks), {page: _joined(held) for page, held in by_page.items()}
    ends: dict[int, int] = {}
    placed: list[Chunk] = []
    for chunk in chunks:
        start = ends.get(chunk.page, -2) + 2
        end = ends[chunk.page] = start + len(chunk.text)
        placed.append(Chunk(id=chunk.id, page=chunk.page, start=start, end=end, text=chunk.text))
    return placed, {page: "\n\n".join(chunk.text for chunk in held) for page, held in by_page.items()}


def _true(chunks: Sequence[Chunk]) -> bool:
    """Whether offsets say where a text lies: no gap longer than all the text, no other length."""
    room = 2 * sum(len(chunk.text) for chunk in chunks) + 10_000
    reached = 0
    for chunk in chunks:
        if chunk.end - chunk.start != len(chunk.text) or not chunk.start >= 0 or chunk.end > room:
            return False
        if chunk.end < reached:
            return False
        reached = chunk.end
    return True


def _joined(chunks: Sequence[Chunk]) -> str:
    parts: list[str] = []
    reached = 0
    for chunk in chunks:
        gap = chunk.start - reached
        if gap > 0:
            parts.append(" " if gap == 1 else "\n" * gap)
        parts.append(chunk.text[max(0, -gap) :])
        reached = chunk.end
    return "".join(parts)
