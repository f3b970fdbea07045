"""Documents for tests of services: good ones, and ones that are broken in a known way."""

from __future__ import annotations

import io
from collections.abc import Sequence

from lucius.services.documents import (
    REPORT,
    Page,
    blank_page,
    encrypted_pdf,
    image_page,
    image_pdf,
    pdf_bytes,
    picture,
    report_pdf,
    text_page,
    text_pdf,
)

__all__ = [
    "REPORT",
    "Page",
    "blank_page",
    "broken_pdfs",
    "encrypted_pdf",
    "image_bytes",
    "image_page",
    "image_pdf",
    "numbered_pages",
    "pdf_bytes",
    "picture",
    "report_pdf",
    "text_page",
    "text_pdf",
]


def numbered_pages(count: int) -> list[str]:
    """Texts that tell which page they are, so that none can stand for another."""
    return [
        f"Page {number} of {count}\n\nThe meter of house {number} was read on day {number % 28 + 1}."
        f"\nIts counter showed {number * 37 + 11} cubic metres."
        for number in range(1, count + 1)
    ]


def image_bytes(texts: Sequence[str], form: str, *, dpi: int = 150) -> bytes:
    """Pictures of text in a format pillow knows (`PNG`, `TIFF`, …); several only where it has pages."""
    first, *others = [picture(text, dpi=dpi) for text in texts]
    kept = io.BytesIO()
    first.save(kept, form, **({"save_all": True, "append_images": others} if others else {}))
    return kept.getvalue()


def broken_pdfs() -> dict[str, bytes]:
    """Files that begin like a PDF and cannot be opened as one, by what is wrong with them."""
    whole = pdf_bytes([text_page("A page that nobody will see.")])
    return {
        "only the header": b"%PDF-1.4\n",
        "cut after a few bytes": whole[:40],
        "cut before the pages": whole[: whole.index(b"/Type /Pages")],
        "rubbish after the header": b"%PDF-1.7\n" + bytes(range(256)) * 8,
        "no page tree": whole.replace(b"/Pages 2 0 R", b"/Pages 9 9 R"),
        "no catalogue": whole.replace(b"/Catalog", b"/Katalog").replace(b"/Root 1 0 R", b"/Rood 1 0 R"),
    }
