"""What a command may say about OCR, and which pages it means."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from lucius.sdk.serving.outcomes import Final

Language = Annotated[str, StringConstraints(min_length=2, max_length=35)]
Ranges = Annotated[str, StringConstraints(pattern=r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$", max_length=500)]
Numbers = Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1, max_length=5000)]
Span = tuple[int, int]

_FORMATS = frozenset({"text", "txt", "plain", "plaintext", "text/plain", "json", "application/json"})
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")


class OcrPayload(BaseModel):
    """The step's section of a command. Fields it does not know are somebody else's and are left alone."""

    model_config = ConfigDict(extra="allow", frozen=True)

    language: Language | Annotated[list[Language], Field(min_length=1, max_length=16)] | None = None
    """What the document is written in. Noted in `pages.json`; the network reads all its scripts at once."""
    pages: Ranges | Numbers | None = None
    """Pages to read, such as "1-3,7" or [1, 2, 3]; all when left out."""
    dpi: int | None = Field(default=None, ge=36, le=1200)
    """Dots per inch at which a page without text is rendered."""
    output_format: str | None = Field(default=None, min_length=1, max_length=32)
    """`text` or `json`: both files are always written, and the text is the output."""
    max_pages: int | None = Field(default=None, ge=1)
    """Refuse the document if more pages than this would have to be read."""
    password: str | None = Field(default=None, max_length=127, repr=False)
    """Opens an encrypted PDF."""


def check_format(wanted: str | None) -> None:
    """Refuse a format that is not written."""
    if wanted is not None and wanted.strip().lower() not in _FORMATS:
        raise Final(
            "UNSUPPORTED_OUTPUT_FORMAT",
            f"This service writes text (output.txt) and JSON (pages.json), not {wanted!r};"
            ' leave output_format out, or say "text" or "json".',
        )


def selected(pages: str | list[int] | None, count: int) -> list[int]:
    """The numbers of the pages that were asked for, of a document with `count` pages, in its order."""
    if pages is None:
        return list(range(1, count + 1))
    spans = _spans(pages) if isinstance(pages, str) else [(number, number) for number in pages]
    for first, last in spans:
        if first < 1 or last > count:
            wrong = first if first < 1 or first > count else last
            have = "1 page" if count == 1 else f"{count} pages"
            raise Final("PAGE_OUT_OF_RANGE", f"Page {wrong} was asked for, but the document has {have}.")
    return sorted({number for first, last in spans for number in range(first, last + 1)})


def _spans(pages: str) -> list[Span]:
    spans = []
    for found in _RANGE.finditer(pages):
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise Final("INVALID_PAYLOAD", f"The pages {found[0]} run backwards; write {last}-{first}.")
        spans.append((first, last))
    return spans


def check_amount(wanted: int, *, payload: OcrPayload, limit: int) -> None:
    """Refuse to read more pages than the payload or the service allows."""
    allowed = min(limit, payload.max_pages or limit)
    if wanted > allowed:
        raise Final(
            "TOO_MANY_PAGES",
            f"{wanted} pages would have to be read and {allowed} are allowed;"
            ' name fewer in "pages", or split the document.',
        )
