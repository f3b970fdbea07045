"""The text a PDF page carries itself, and whether it can be trusted.

PDFium hands out characters one by one, with a box each; lines end where it puts a line break. A word that
was divided at the end of a line comes back whole: PDFium marks such hyphens, and they are dropped. Lines
that are shown sideways may come in reverse, so the page is turned upright first.
"""

from __future__ import annotations

import ctypes
import math
import sys
import unicodedata
from collections import Counter
from contextlib import closing
from typing import Any

import msgspec

from lucius.services.ocr.layout import as_text
from lucius.services.ocr.records import Box, Line

_FINE = 10
"""PDFium maps to whole device pixels; a device of ten pixels a point keeps a decimal."""
_RUBBISH_SHARE = 0.2
_SAMPLED = 200


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """A page's own text."""

    text: str
    lines: tuple[Line, ...]
    characters: int
    """Without blanks."""
    rubbish: bool
    """Too many characters say nothing: the font hides which letters its shapes are."""
    turned: int
    width: float
    height: float


def layer_of(page: Any) -> Layer:
    """The text layer of an open page."""
    shown = page.get_rotation()
    turned = (_upright(page, shown) - shown) % 360
    if not turned:
        return _gathered(page, 0)
    page.set_rotation((shown + turned) % 360)
    try:
        return _gathered(page, turned)
    finally:
        page.set_rotation(shown)


def clean(text: str) -> str:
    """Without control characters, form feeds above all: they divide pages in the output."""
    kept = (c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs", "Cn"})
    return "".join(kept)


def _upright(page: Any, shown: int) -> int:
    """How the page must be turned so that most of its text is upright; as it is, if it has none."""
    import pypdfium2.raw as pdfium  # noqa: PLC0415 - comes with an extra

    turns: Counter[int] = Counter()
    with closing(page.get_textpage()) as textpage:
        count = textpage.count_chars()
        for index in range(0, count, max(1, count // _SAMPLED)):
            if not chr(pdfium.FPDFText_GetUnicode(textpage.raw, index) % sys.maxunicode).isspace():
                angle = pdfium.FPDFText_GetCharAngle(textpage.raw, index)
                turns[round(-angle / (math.pi / 2)) % 4 * 90] += 1
    return turns.most_common(1)[0][0] if turns else shown


def _gathered(page: Any, turned: int) -> Layer:
    with closing(page.get_textpage()) as textpage:
        lines, seen, bad = _lines(page, textpage)
    kept = tuple(line for line in lines if line.text)
    width, height = page.get_size()
    return Layer(
        text=as_text(kept),
        lines=kept,
        characters=seen,
        rubbish=seen > 0 and bad / seen > _RUBBISH_SHARE,
        turned=turned,
        width=round(width, 1),
        height=round(height, 1),
    )


def _lines(page: Any, textpage: Any) -> tuple[list[Line], int, int]:
    """The lines, how many characters they have, and how many of these say nothing."""
    import pypdfium2.raw as pdfium  # noqa: PLC0415 - comes with an extra

    lines: list[Line] = []
    letters: list[str] = []
    box: Box | None = None
    sides = [ctypes.c_double() for _ in range(4)]
    seen = bad = 0
    for index in range(textpage.count_chars()):
        code = pdfium.FPDFText_GetUnicode(textpage.raw, index)
        letter = chr(code) if code <= sys.maxunicode else "\ufffd"
        if letter == "\n":
            lines.append(_line(page, letters, box))
            letters, box = [], None
        elif letter.isspace():
            letters.append("" if letter == "\r" else " ")
        elif pdfium.FPDFText_IsHyphen(textpage.raw, index) != 1:
            seen += 1
            bad += _says_nothing(letter) or pdfium.FPDFText_HasUnicodeMapError(textpage.raw, index) == 1
            letters.append(letter)
            if pdfium.FPDFText_GetCharBox(textpage.raw, index, *sides):
                left, right, bottom, top = (side.value for side in sides)
                box = _around(box, (left, bottom, right, top))
    lines.append(_line(page, letters, box))
    return lines, seen, bad


def _line(page: Any, letters: list[str], box: Box | None) -> Line:
    text = unicodedata.normalize("NFC", clean("".join(letters))).strip()
    return Line(text=text, box=_shown(page, box) if box else None, confidence=1.0)


def _says_nothing(letter: str) -> bool:
    return letter == "\ufffd" or unicodedata.category(letter) in {"Cc", "Co", "Cs", "Cn"}


def _around(one: Box | None, other: Box) -> Box:
    if one is None:
        return other
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _shown(page: Any, box: Box) -> Box:
    """A box of the page's own coordinates where a viewer shows it: turned, and counted from the top."""
    import pypdfium2.raw as pdfium  # noqa: PLC0415 - comes with an extra

    width, height = (max(1, min(round(side * _FINE), 1_000_000)) for side in page.get_size())
    across, down = ctypes.c_int(), ctypes.c_int()
    xs, ys = [], []
    for x, y in ((box[0], box[1]), (box[2], box[3])):
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, width, height, 0, x, y, across, down)
        xs.append(across.value / _FINE)
        ys.append(down.value / _FINE)
    return min(xs), min(ys), max(xs), max(ys)
