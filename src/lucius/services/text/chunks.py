"""Cutting pages into chunks that are small enough for one vector and hold together.

Sizes are in characters. A chunk never reaches over a page, begins and ends with a printed character, and
is exactly `page[start:end]`. It ends at a paragraph, else a sentence, else a word, in its second half, and
only then anywhere. Neighbours share at most `overlap` characters. Every printed character is in a chunk.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from lucius.sdk.serving import outcomes
from lucius.services.text.sentences import sentences

MAX_CHUNKS: Final = 20_000
MAX_CHARACTERS: Final = 32_000_000
"""Of all chunks together: what overlaps is held several times."""

_PARAGRAPH: Final = re.compile(r"\n[ \t\r]*\n")
_SPACE: Final = re.compile(r"\s+")


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a page. `page` counts from 1; `start` and `end` are offsets in the text of the page."""

    id: str
    page: int
    start: int
    end: int
    text: str


def cut_pages(pages: Sequence[str], *, size: int, overlap: int) -> list[Chunk]:
    """The chunks of all pages; `Final` TOO_MANY_CHUNKS if there would be more than can be held."""
    chunks: list[Chunk] = []
    characters = 0
    for number, page in enumerate(pages, start=1):
        for start, end in spans(page, size=size, overlap=overlap):
            characters += end - start
            if len(chunks) == MAX_CHUNKS or characters > MAX_CHARACTERS:
                raise outcomes.Final(
                    "TOO_MANY_CHUNKS",
                    f"The text makes more than {MAX_CHUNKS} chunks, or chunks that repeat it too often: "
                    f"ask for a larger chunk_size than {size} or a smaller chunk_overlap than {overlap}.",
                )
            name = f"c{len(chunks) + 1}"
            chunks.append(Chunk(id=name, page=number, start=start, end=end, text=page[start:end]))
    return chunks


def spans(text: str, *, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Where the chunks of one page lie; 0 ≤ overlap < size."""
    if not 0 <= overlap < size:
        raise ValueError("the overlap must be smaller than the chunk")
    seams = _Seams(text)
    stop = len(text.rstrip())
    begin = fresh = seams.printed(0)
    while fresh < stop:
        limit = begin + size
        cut = stop if limit >= stop else seams.last_cut(max(begin + size // 2, fresh + 1), limit)
        end = seams.rstrip(begin, cut)
        yield begin, end
        fresh = seams.printed(cut)
        begin = seams.first_start(max(end - overlap, begin + 1), end) if overlap else fresh
        if fresh - begin >= size:  # so much white space that an overlap would leave no room for new text
            begin = fresh


class _Seams:
    """The places of one text where it may be cut, best kind first."""

    def __init__(self, text: str) -> None:
        self._text = text
        said = sentences(text)
        self._cuts = (
            array("q", [found.start() for found in _PARAGRAPH.finditer(text)]),
            array("q", [end for _, end in said]),
            array("q", [found.start() for found in _SPACE.finditer(text)]),
        )
        self._sentences = array("q", [start for start, _ in said])
        self._words = array("q", [found.end() for found in _SPACE.finditer(text)])

    def last_cut(self, low: int, high: int) -> int:
        """The best place to end a chunk in [low, high]."""
        for places in self._cuts:
            found = bisect_right(places, high) - 1
            if found >= 0 and places[found] >= low:
                return places[found]
        return high

    def first_start(self, low: int, high: int) -> int:
        """The best place to begin the next chunk in [low, high)."""
        for places in (self._sentences, self._words):
            found = bisect_left(places, low)
            if found < len(places) and places[found] < high:
                return places[found]
        return self.printed(low)

    def printed(self, place: int) -> int:
        """The first character from here on that is not white space."""
        found = bisect_right(self._cuts[2], place) - 1
        if found >= 0 and place < self._words[found]:
            return self._words[found]
        return place

    def rstrip(self, begin: int, cut: int) -> int:
        """The end of the last printed character before the cut."""
        while cut > begin + 1 and self._text[cut - 1].isspace():
            cut -= 1
        return cut
