"""What goes to and fro between the service and the process that reads."""

from __future__ import annotations

import msgspec

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, from the upper left corner of the page as it is shown."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a page."""

    text: str
    box: Box | None = None
    confidence: float | None = None


class PageText(msgspec.Struct, frozen=True, kw_only=True):
    """What was read on one page."""

    page: int
    method: str
    """`text-layer`, `recognised`, `empty` or `skipped`."""
    text: str = ""
    confidence: float | None = None
    """1 for a text layer; for a recognised page the mean of its lines, the longer ones counting more."""
    width: float | None = None
    height: float | None = None
    unit: str | None = None
    """Of `width`, `height` and the boxes: `point` (1/72 inch) or `pixel`."""
    dpi: float | None = None
    """What the page was rendered at, if it was."""
    turned: int = 0
    """Degrees clockwise the page was turned to be upright; size and boxes are those of the turned page."""
    lines: tuple[Line, ...] = ()


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A document and how it is to be read: the same for all calls of one attempt."""

    path: str
    password: str | None
    dpi: int
    threads: int
    max_pixels: int
    max_picture_pixels: int
    max_memory: int | None = None
    """Bytes the process that reads may have; None: as much as there is."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a document is."""

    media_type: str
    pages: int
    size: int
    complete: bool = True
    """False: the file does not end as its kind should; something may be missing."""
