"""The reference OCR service: the text of PDFs and pictures, page by page, offline.

A page goes through one of these:

    text-layer   the file itself holds the text (most PDFs): taken as it is
    recognised   the page is a picture: rendered, and read by a neural network
    empty        nothing is on it
    skipped      it was not asked for

What cannot be read is refused for good (`Final`), with a code that says why: `PDF_BROKEN`, `PDF_ENCRYPTED`,
`IMAGE_BROKEN`, `IMAGE_TOO_LARGE`, `DOCUMENT_EMPTY`, `DOCUMENT_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`,
`UNSUPPORTED_OUTPUT_FORMAT`, `TOO_MANY_PAGES`, `PAGE_OUT_OF_RANGE`, `PAGE_TOO_SLOW`, `INVALID_PAYLOAD`.

Everything that computes runs in a process of its own (`reading`), which keeps the open document and the
loaded network between calls; this process only saves the document, asks for pages and writes files. The
heavy libraries (extra `[reference]`) are imported there alone.
"""

from __future__ import annotations

from lucius.services.ocr.payload import OcrPayload
from lucius.services.ocr.service import OcrService
from lucius.services.ocr.settings import OcrSettings

__all__ = ["OcrPayload", "OcrService", "OcrSettings"]
