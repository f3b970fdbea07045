"""A text as pages: UTF-8, a form feed between two pages; page n is the n-th part.

How it fails: what is no text ends the job (`NOT_TEXT`, with a hint at what it looks like), and so does a
text that is too long (`TEXT_TOO_LONG`). A text without a word is an answer, not a failure, when an earlier
step found it so; a client that sends one is told (`NO_TEXT`).
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from lucius.sdk.serving import outcomes

if TYPE_CHECKING:
    from lucius.sdk.workspaces import Source

PAGE_BREAK: Final = "\f"
MAX_BYTES: Final = 16 * 1024 * 1024
"""More than ten thousand pages of print."""

_MAGIC: Final = (
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\xd0\xcf\x11\xe0", "an old office document"),
    (b"\x1f\x8b", "a gzip archive"),
)


async def read_bytes(source: Source, *, limit: int = MAX_BYTES) -> bytes:
    """All of a source, never more than `limit` in memory; `Final` TEXT_TOO_LONG beyond."""
    held = bytearray()
    async for piece in source.stream():
        held += piece
        if len(held) > limit:
            raise outcomes.Final(
                "TEXT_TOO_LONG",
                f"The text is longer than {limit // (1024 * 1024)} MiB; split it and send the parts.",
            )
    return bytes(held)


def pages_of(raw: bytes) -> list[str]:
    """The pages of a text; `Final` NOT_TEXT for anything that is not UTF-8 (or UTF-16 with its mark)."""
    try:
        if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            text = raw.decode("utf-16")
        else:
            text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_text(raw) from None
    if "\x00" in text or raw.startswith(b"%PDF"):
        raise _not_text(raw)
    return text.split(PAGE_BREAK)


def blank(pages: Sequence[str]) -> bool:
    """Whether no page has a word on it."""
    return not any(page and not page.isspace() for page in pages)


def document_pages(raw: bytes) -> list[str]:
    """The pages of what a client sent; `Final` NO_TEXT if there is nothing on them."""
    pages = pages_of(raw)
    if blank(pages):
        raise outcomes.Final("NO_TEXT", "The document is empty: there is no text to work on.")
    return pages


def _not_text(raw: bytes) -> outcomes.Final:
    looks = next((name for magic, name in _MAGIC if raw.startswith(magic)), None)
    if looks is None:
        return outcomes.Final("NOT_TEXT", "The document is not UTF-8 text; convert it or read it by OCR.")
    return outcomes.Final(
        "NOT_TEXT",
        f"The document is {looks}, not text; use a request type that begins with OCR.",
    )
