"""An open PDF: the text its pages carry, or pictures of them for recognition.

PDFium repairs what it can (a lost cross-reference table, a cut end). What it cannot open is `PDF_BROKEN`;
so is a document of which a page cannot be loaded: half a document that looks whole is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from lucius.sdk.serving.outcomes import Final
from lucius.services.ocr.engine import recognise
from lucius.services.ocr.records import PageText, Task
from lucius.services.ocr.text_layer import Layer, layer_of

_ENOUGH = 300
"""Characters above which a text layer is taken without a look at the pictures around it."""
_MOST_OF_IT = 0.5
_MOST_OBJECTS = 5_000
_POINTS = 72
_LONGEST_SIDE = 16_000
_LOOKED_AT = 1_000_000
_NO_PAGES = re.compile(rb"/Count\s+0\b")
_ONE_PAGE = re.compile(rb"/Type\s*/Page\b")
_DRAWN = frozenset({pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP})


class PdfFile:
    """Pages by number, from 1."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._document = _opened(task)
        try:
            self.count = len(self._document)
        except pypdfium2.PdfiumError:
            self.count = 0
        if not self.count:
            self.close()
            raise Final("DOCUMENT_EMPTY", "The PDF has no pages.")
        self.complete = b"%%EOF" in _tail(Path(task.path))

    def layer(self, number: int) -> PageText | None:
        """The page, if its own text is all there is to read; None: it needs recognition."""
        with self._page(number) as page:
            layer = layer_of(page)
            if not layer.characters and not _has_content(page):
                return PageText(page=number, method="empty", **_size(page))
            return None if _needs_eyes(page, layer) else _from_layer(number, layer)

    def recognise(self, number: int) -> PageText:
        """The page, read from a picture of it."""
        with self._page(number) as page:
            _check_pictures(page, number, self._task.max_picture_pixels)
            scale = self._scale(page)
            found = recognise(page.render(scale=scale).to_numpy(), self._task.threads)
            layer = layer_of(page)
            if not layer.rubbish and layer.characters > found.characters:
                return _from_layer(number, layer)
            dpi = round(scale * _POINTS, 1)
            if not found.lines:
                return PageText(page=number, method="empty", dpi=dpi, **_size(page))
            size = _size(page)
            if found.turned % 180:
                size |= {"width": size["height"], "height": size["width"]}
            return PageText(
                page=number,
                method="recognised",
                text=found.text,
                confidence=found.confidence,
                dpi=dpi,
                turned=found.turned,
                lines=tuple(_in_points(line, scale) for line in found.lines),
                **size,
            )

    def close(self) -> None:
        """Let go of the file."""
        self._document.close()

    @contextmanager
    def _page(self, number: int) -> Iterator[Any]:
        try:
            page = _with_fields(self._document, number - 1)
        except pypdfium2.PdfiumError:
            raise Final("PDF_BROKEN", f"Page {number} of the PDF is broken and cannot be read.") from None
        try:
            yield page
        except pypdfium2.PdfiumError as error:
            raise Final("PDF_BROKEN", f"Page {number} of the PDF is broken: {error}") from None
        finally:
            page.close()

    def _scale(self, page: Any) -> float:
        """Pixels a point: as the resolution says, less where the page would grow too large."""
        width, height = (max(side, 1.0) for side in page.get_size())
        fits = (self._task.max_pixels / (width * height)) ** 0.5
        return float(min(self._task.dpi / _POINTS, fits, _LONGEST_SIDE / max(width, height)))


def _opened(task: Task) -> Any:
    try:
        return pypdfium2.PdfDocument(task.path, password=task.password)
    except pypdfium2.PdfiumError as error:
        code = error.err_code
    if code == pdfium.FPDF_ERR_PASSWORD:
        given = "the password in the payload does not open it" if task.password else "it needs a password"
        raise Final("PDF_ENCRYPTED", f'The PDF is encrypted and {given}; give the right one in "password".')
    if code == pdfium.FPDF_ERR_SECURITY:
        raise Final("PDF_ENCRYPTED", "The PDF is encrypted in a way this service cannot open.")
    if _says_no_pages(Path(task.path)):
        raise Final("DOCUMENT_EMPTY", "The PDF has no pages.")
    raise Final("PDF_BROKEN", "The file begins like a PDF but is damaged, and cannot be opened.")


def _says_no_pages(path: Path) -> bool:
    """Whether a PDF that PDFium refuses has a page tree, and nothing in it: PDFium takes that for damage."""
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
    return _NO_PAGES.search(head) is not None and _ONE_PAGE.search(head) is None


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2048))
        return file.read()


def _with_fields(document: Any, index: int) -> Any:
    """A page with its filled-in form fields, notes and stamps drawn on it, so that they are read too."""
    page = document[index]
    if not any(_is_drawn(page, number) for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), 500))):
        return page
    flattened = pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
    if flattened != pdfium.FLATTEN_SUCCESS:
        return page
    page.close()
    return document[index]


def _is_drawn(page: Any, number: int) -> bool:
    annotation = pdfium.FPDFPage_GetAnnot(page, number)
    if not annotation:
        return False
    subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
    pdfium.FPDFPage_CloseAnnot(annotation)
    return subtype in _DRAWN


def _has_content(page: Any) -> bool:
    return next(iter(page.get_objects(max_depth=1)), None) is not None


def _needs_eyes(page: Any, layer: Layer) -> bool:
    """Whether the text layer is missing, is rubbish, or is a stamp on what is really a picture."""
    if not layer.characters or layer.rubbish:
        return True
    if layer.characters >= _ENOUGH:
        return False
    width, height = page.get_size()
    covered = 0.0
    for picture in _pictures(page):
        left, bottom, right, top = picture.get_bounds()
        covered = max(covered, (right - left) * (top - bottom))
    return bool(covered > _MOST_OF_IT * width * height)


def _pictures(page: Any) -> Iterator[Any]:
    return islice(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3), _MOST_OBJECTS)


def _check_pictures(page: Any, number: int, limit: int) -> None:
    """Refuse what would take gigabytes to decode, before it is."""
    for picture in _pictures(page):
        width, height = picture.get_px_size()
        if width * height > limit:
            raise Final(
                "IMAGE_TOO_LARGE",
                f"A picture on page {number} has {width} × {height} pixels; {limit:,} in all are allowed.",
            )


def _size(page: Any) -> dict[str, Any]:
    width, height = page.get_size()
    return {"width": round(width, 1), "height": round(height, 1), "unit": "point"}


def _from_layer(number: int, layer: Layer) -> PageText:
    return PageText(
        page=number,
        method="text-layer",
        text=layer.text,
        confidence=1.0,
        width=layer.width,
        height=layer.height,
        unit="point",
        turned=layer.turned,
        lines=layer.lines,
    )


def _in_points(line: Any, scale: float) -> Any:
    box = tuple(round(side / scale, 1) for side in line.box)
    return type(line)(text=line.text, box=box, confidence=line.confidence)
