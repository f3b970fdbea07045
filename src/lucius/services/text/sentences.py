"""Where sentences begin and end: by punctuation, empty lines, and the short lines of forms and lists.

Made for text as OCR leaves it: a long line is wrapped prose and goes on in the next one; a short line
(a heading, `Total: 5 EUR`) stands for itself. All patterns are bounded, so time grows with the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 600
"""Longer ones are cut between words."""
_SHORT_LINE: Final = 45

_BREAK: Final = re.compile(r"[.!?…]{1,3}[\"'”’»)\]]{0,3}(?=\s)|[。！？]|\n")
_WORD_BEFORE: Final = re.compile(r"([^\W\d_]{1,8}(?:\.[^\W\d_]{1,3})?)\.$")
_LIST_ITEM: Final = re.compile(r"[ \t]{0,20}(?:[-•*–·|]|\d{1,3}[.)]|\n|$)")
_MONTH: Final = re.compile(
    r"(?:jan|feb|mär|mar|apr|mai|may|jun|jul|aug|sep|o[ck]t|nov|de[cz])", re.IGNORECASE
)
_SHORTENED: Final = (
    "mr mrs ms dr prof st no nos nr vs e.g i.e approx fig figs art sec vol ed inc ltd co corp dept p pp ca "
    "cf z.b bzw usw ggf inkl zzgl abs str tel jan feb mar apr jun jul aug sep sept oct nov dec"
)
_ABBREVIATIONS: Final = frozenset(_SHORTENED.split())


def sentences(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences, in order; together they hold every character that is not white space."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for end in _ends(text):
        spans.extend(_trimmed(text, begin, end))
        begin = end
    spans.extend(_trimmed(text, begin, len(text)))
    return spans


def _ends(text: str) -> Iterator[int]:
    line = 0
    for found in _BREAK.finditer(text):
        if found.group() == "\n":
            length, line = found.start() - line, found.end()
            if _LIST_ITEM.match(text, line) or (length < _SHORT_LINE and not text[line].islower()):
                yield line
        elif not found.group().startswith(".") or _closes(text, found.start(), found.end()):
            yield found.end()


def _closes(text: str, dot: int, end: int) -> bool:
    """Whether a full stop ends a sentence, and not an abbreviation, an initial or a number."""
    after = text[end : end + 8].lstrip()
    if after and (after[0].islower() or (text[dot - 1 : dot].isdigit() and _MONTH.match(after))):
        return False
    word = _WORD_BEFORE.search(text[max(0, dot - 14) : dot + 1])
    if word is None:
        return True
    plain = word.group(1).lower()
    return len(plain) > 1 and plain not in _ABBREVIATIONS


def _trimmed(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    while begin < end:
        while begin < end and text[begin].isspace():
            begin += 1
        cut = end
        if end - begin > LONGEST:
            blank = max(text.rfind(" ", begin, begin + LONGEST), text.rfind("\n", begin, begin + LONGEST))
            cut = blank if blank > begin else begin + LONGEST
        last = cut
        while last > begin and text[last - 1].isspace():
            last -= 1
        if last > begin:
            yield begin, last
        begin = cut
