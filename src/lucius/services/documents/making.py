"""Whole documents in one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lucius.services.documents.pages import image_page, text_page
from lucius.services.documents.pdf import pdf_bytes


def text_pdf(pages: Sequence[str], path: Path) -> Path:
    """A PDF whose pages all have a text layer."""
    path.write_bytes(pdf_bytes([text_page(text) for text in pages]))
    return path


def image_pdf(pages: Sequence[str], path: Path, *, dpi: int = 150) -> Path:
    """A PDF whose pages are pictures of text, as a scanner makes them."""
    path.write_bytes(pdf_bytes([image_page(text, dpi=dpi) for text in pages]))
    return path


def encrypted_pdf(pages: Sequence[str], path: Path, *, password: str) -> Path:
    """A PDF that nobody opens without its password."""
    path.write_bytes(pdf_bytes([text_page(text) for text in pages], password=password))
    return path
