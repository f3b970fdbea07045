"""A PDF file from pages: header, objects, cross-reference table, trailer.

Objects 1 to 3 are the catalogue, the page tree and the font; each page takes three more (page, content,
picture), so an object's number says what it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from lucius.services.documents.encryption import DOCUMENT_ID, Lock, lock
from lucius.services.documents.pages import Page

_FIRST, _EACH = 4, 3


def pdf_bytes(pages: Sequence[Page], *, password: str | None = None) -> bytes:
    """The file. With a password nobody reads it without."""
    locked = lock(password) if password is not None else None
    numbers = [_FIRST + _EACH * index for index in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in zip(numbers, pages, strict=True):
        objects += [_page(page, number), _content(page, number + 1, locked), _image(page, number + 2, locked)]
    return _file(objects, locked)


def _page(page: Page, number: int) -> bytes:
    pictures = f"/XObject << /Im1 {number + 2} 0 R >>" if page.jpeg else ""
    return (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {page.width:.2f} {page.height:.2f}]"
        f" /Rotate {page.rotate} /Resources << /Font << /F1 3 0 R >> {pictures} >>"
        f" /Contents {number + 1} 0 R >>"
    ).encode()


def _content(page: Page, number: int, locked: Lock | None) -> bytes:
    return _stream("/Filter /FlateDecode", zlib.compress(page.content), number, locked)


def _image(page: Page, number: int, locked: Lock | None) -> bytes:
    if not page.jpeg:
        return b"null"
    width, height = page.jpeg_size
    entries = (
        f"/Type /XObject /Subtype /Image /Width {width} /Height {height}"
        " /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode"
    )
    return _stream(entries, page.jpeg, number, locked)


def _stream(entries: str, data: bytes, number: int, locked: Lock | None) -> bytes:
    kept = locked.seal(data, number) if locked else data
    return f"<< {entries} /Length {len(kept)} >>\nstream\n".encode() + kept + b"\nendstream"


def _file(objects: Sequence[bytes], locked: Lock | None) -> bytes:
    written = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(written)
    written += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    written += "".join(f"{place:010d} 00000 n \n" for place in places).encode()
    identity = DOCUMENT_ID.hex()
    protection = f" /Encrypt {locked.dictionary()}" if locked else ""
    written += (
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /ID [<{identity}> <{identity}>]{protection} >>\n"
        f"startxref\n{table}\n%%EOF\n"
    ).encode()
    return bytes(written)
