"""Text drawn as a picture, as a scanner would have seen it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

POINTS_PER_INCH = 72
MARGIN = 60.0
SIZE = 11.0
LEADING = 1.45
COLUMNS = 86
"""Characters a line takes before it is wrapped; at `SIZE` they fit between the margins of an A4 page."""


def lines_of(text: str, columns: int = COLUMNS) -> list[str]:
    """The lines of a page, long ones wrapped, blank ones kept."""
    return [line for given in text.split("\n") for line in textwrap.wrap(given, columns) or [""]]


def picture(text: str, *, dpi: int = 150, width: float = 595.0, height: float = 842.0) -> Image:
    """A page of black text on white, in grey levels; sizes are in points."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - pillow comes with an extra

    scale = dpi / POINTS_PER_INCH
    drawn = Image.new("L", (round(width * scale), round(height * scale)), 255)
    pen = ImageDraw.Draw(drawn)
    font = ImageFont.load_default(SIZE * scale)
    for number, line in enumerate(lines_of(text)):
        pen.text((MARGIN * scale, (MARGIN + number * SIZE * LEADING) * scale), line, fill=0, font=font)
    return drawn
