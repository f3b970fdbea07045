"""Documents to try the reference services on: real PDFs, made on the spot, the same bytes each time.

`report_pdf` is the one the demonstration shows; the others are what tests of a service need. Pages of
text need nothing but the standard library; pages that are pictures need pillow (extra `[reference]`).
"""

from __future__ import annotations

from lucius.services.documents.drawing import picture
from lucius.services.documents.making import encrypted_pdf, image_pdf, text_pdf
from lucius.services.documents.pages import Page, blank_page, image_page, text_page
from lucius.services.documents.pdf import pdf_bytes
from lucius.services.documents.report import REPORT, report_pdf

__all__ = [
    "REPORT",
    "Page",
    "blank_page",
    "encrypted_pdf",
    "image_page",
    "image_pdf",
    "pdf_bytes",
    "picture",
    "report_pdf",
    "text_page",
    "text_pdf",
]
