"""Pages of a PDF: a content stream, perhaps with one picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import msgspec

from lucius.services.documents.drawing import LEADING, MARGIN, SIZE, lines_of, picture

if TYPE_CHECKING:
    from PIL.Image import Image

A4 = (595.0, 842.0)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page, ready to be written."""

    content: bytes = b""
    width: float = A4[0]
    height: float = A4[1]
    rotate: int = 0
    """Degrees a viewer turns the page clockwise before it shows it."""
    jpeg: bytes = b""
    jpeg_size: tuple[int, int] = (0, 0)


def blank_page(*, width: float = A4[0], height: float = A4[1]) -> Page:
    """A page with nothing on it."""
    return Page(width=width, height=height)


def text_page(text: str, *, width: float = A4[0], height: float = A4[1], rotate: int = 0) -> Page:
    """A page with a text layer, in Helvetica; it is shown upright whatever `rotate` is.

    Characters outside Windows-1252 become question marks.
    """
    shown = "\n".join(f"<{line.encode('cp1252', 'replace').hex()}> Tj T*" for line in lines_of(text))
    head = f"BT /F1 {SIZE} Tf {SIZE * LEADING:.2f} TL {MARGIN} {height - MARGIN - SIZE:.2f} Td"
    stored = (height, width) if rotate % 180 else (width, height)
    turn = {
        0: "",
        90: f"0 1 -1 0 {height} 0 cm",
        180: f"-1 0 0 -1 {width} {height} cm",
        270: f"0 -1 1 0 0 {width} cm",
    }
    content = f"{turn[rotate]}\n{head}\n{shown}\nET".encode()
    return Page(content=content, width=stored[0], height=stored[1], rotate=rotate)


def image_page(
    text: str, *, dpi: int = 150, width: float = A4[0], height: float = A4[1], rotate: int = 0
) -> Page:
    """A page that is a picture of text and has no text layer; it is shown upright whatever `rotate` is."""
    drawn = picture(text, dpi=dpi, width=width, height=height)
    # The picture lies on the page turned the other way, as a scanner fed sideways leaves it.
    return placed(drawn.rotate(rotate, expand=True) if rotate else drawn, dpi=dpi, rotate=rotate)


def placed(drawn: Image, *, dpi: int = 150, rotate: int = 0) -> Page:
    """A page that is filled by a picture."""
    kept = io.BytesIO()
    drawn.convert("L").save(kept, "JPEG", quality=85)
    width, height = (side * 72 / dpi for side in drawn.size)
    return Page(
        content=f"q {width:.2f} 0 0 {height:.2f} 0 0 cm /Im1 Do Q".encode(),
        width=width,
        height=height,
        rotate=rotate,
        jpeg=kept.getvalue(),
        jpeg_size=drawn.size,
    )
