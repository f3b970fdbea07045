"""Boxes of recognised text, brought into the order a person reads them in.

Boxes that stand side by side are one line, unless they are columns of running text: then the left column
is read to its end before the right one begins. Short entries side by side are a table and stay in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from statistics import fmean, median

from lucius.services.ocr.records import Box, Line

_COLUMN_LINES = 3
_COLUMN_CHARACTERS = 18
"""Columns of text have at least so many lines, of so many characters on average; a table has less."""
_MOST_BOXES = 1500
"""Beyond this, columns are not looked for: it would take longer than reading."""
_PARAGRAPH = 1.5
"""Times the page's usual distance from line to line: from here on there is a blank line between them."""


def in_reading_order(boxes: Sequence[Line]) -> list[Line]:
    """The boxes as lines, from first to last."""
    known = [box for box in boxes if box.box is not None and box.text.strip()]
    if len(known) > _MOST_BOXES:
        return _rows(known)
    bands = _bands(known)
    lines: list[Line] = []
    at = 0
    while at < len(bands):
        until, columns = _columns_from(bands, at)
        if columns:
            lines += [line for column in columns for line in in_reading_order(column)]
        else:
            lines += _rows([box for band in bands[at:until] for box in band])
        at = until
    return lines


def as_text(lines: Sequence[Line]) -> str:
    """The lines below each other, a blank one where the page leaves a gap."""
    steps = [_middle(_box(after)) - _middle(_box(before)) for before, after in pairwise(lines)]
    least = 0.5 * median([_height(_box(line)) for line in lines] or [0.0])
    usual = _close([step for step in steps if step > least])
    parts: list[str] = []
    for line, step in zip(lines, chain((0.0,), steps), strict=False):
        if line.box and (step > _PARAGRAPH * usual > 0 or step < -2 * usual):  # further down, or a new column
            parts.append("")
        parts.append(line.text)
    return "\n".join(parts)


def _close(steps: Sequence[float]) -> float:
    """The distance of lines that belong together: a short page may have more gaps than such."""
    return sorted(steps)[len(steps) // 4] if steps else 0.0


def _bands(boxes: Sequence[Line]) -> list[list[Line]]:
    """Groups that have a clear horizontal gap between them, from top to bottom."""
    bands: list[list[Line]] = []
    bottom = float("-inf")
    for box in sorted(boxes, key=lambda each: _box(each)[1]):
        _, top, _, low = _box(box)
        slack = 0.2 * (low - top)  # detected boxes reach a little into their neighbours
        if bands and top + slack < bottom:
            bands[-1].append(box)
        else:
            bands.append([box])
        bottom = max(bottom, low - slack)
    return bands


def _columns_from(bands: Sequence[Sequence[Line]], at: int) -> tuple[int, list[list[Line]]]:
    """Where the run of bands that leave a gutter free ends, and the columns in it, if it is columns."""
    together: list[Line] = []
    best: tuple[int, list[list[Line]]] | None = None
    until = at
    while until < len(bands):
        together += bands[until]
        gutter = _gutter(together)
        if gutter is None and len(together) > 1:
            break
        until += 1
        if gutter is not None:
            left = [box for box in together if _box(box)[2] <= gutter]
            right = [box for box in together if _box(box)[0] >= gutter]
            if _is_column(left) and _is_column(right):
                best = (until, [left, right])
    return best or (max(until, at + 1), [])


def _gutter(boxes: Sequence[Line]) -> float | None:
    """Where a vertical line crosses no box: the middle of the widest such gap."""
    edges = sorted((_box(box)[0], _box(box)[2]) for box in boxes)
    widest, found, reach = 0.0, None, edges[0][1]
    for left, right in edges[1:]:
        if left - reach > widest:
            widest, found = left - reach, (left + reach) / 2
        reach = max(reach, right)
    return found if widest > 0.5 * median(_height(_box(box)) for box in boxes) else None


def _is_column(boxes: Sequence[Line]) -> bool:
    return len(boxes) >= _COLUMN_LINES and fmean(len(box.text) for box in boxes) >= _COLUMN_CHARACTERS


def _rows(boxes: Sequence[Line]) -> list[Line]:
    """Boxes on one height joined to a line, from top to bottom."""
    rows: list[list[Line]] = []
    for box in sorted(boxes, key=lambda each: _middle(_box(each))):
        if rows and _on_one_line(_box(rows[-1][-1]), _box(box)):
            rows[-1].append(box)
        else:
            rows.append([box])
    return [_joined(sorted(row, key=lambda each: _box(each)[0])) for row in rows]


def _on_one_line(one: Box, other: Box) -> bool:
    return abs(_middle(one) - _middle(other)) < 0.5 * min(_height(one), _height(other))


def _joined(row: Sequence[Line]) -> Line:
    if len(row) == 1:
        return row[0]
    lefts, tops, rights, lows = zip(*(_box(each) for each in row), strict=True)
    return Line(
        text=" ".join(each.text for each in row),
        box=(min(lefts), min(tops), max(rights), max(lows)),
        confidence=round(fmean(each.confidence or 0.0 for each in row), 4),
    )


def _box(line: Line) -> Box:
    return line.box or (0.0, 0.0, 0.0, 0.0)


def _height(box: Box) -> float:
    return box[3] - box[1]


def _middle(box: Box) -> float:
    return (box[1] + box[3]) / 2
