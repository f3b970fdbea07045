"""What a file is, judged by its content: names and declared types are often wrong."""

from __future__ import annotations

import codecs
from enum import StrEnum

from lucius.sdk.serving.outcomes import Final

HEAD = 4096
"""Bytes from the beginning that are looked at."""


class Kind(StrEnum):
    """What can be read."""

    PDF = "application/pdf"
    PNG = "image/png"
    JPEG = "image/jpeg"
    TIFF = "image/tiff"
    WEBP = "image/webp"
    BMP = "image/bmp"
    GIF = "image/gif"
    TEXT = "text/plain"


_KINDS: tuple[tuple[bytes, Kind], ...] = (
    (b"%PDF-", Kind.PDF),
    (b"\x89PNG\r\n\x1a\n", Kind.PNG),
    (b"\xff\xd8\xff", Kind.JPEG),
    (b"II*\0", Kind.TIFF),
    (b"MM\0*", Kind.TIFF),
    (b"II+\0", Kind.TIFF),
    (b"MM\0+", Kind.TIFF),
    (b"GIF87a", Kind.GIF),
    (b"GIF89a", Kind.GIF),
)
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive (Word, Excel and OpenDocument files are ones too)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an older Microsoft Office file"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
    (b"\0\0\0\x0cjP  ", "a JPEG 2000 picture"),
    (b"ID3", "an MP3 recording"),
    (b"OggS", "an Ogg recording"),
    (b"fLaC", "a FLAC recording"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"-----BEGIN", "a key or a certificate"),
)
_MARKUP: tuple[tuple[str, str], ...] = (
    ("<!doctype html", "an HTML page"),
    ("<html", "an HTML page"),
    ("<svg", "an SVG drawing"),
    ("<?xml", "an XML file"),
)
_NOT_IN_TEXT = bytes(each for each in range(32) if each not in b"\t\n\r\f\x1b")
_PDF_HEADER_WITHIN = 1024
"""Readers of PDF accept rubbish before the header, up to here."""


def kind_of(head: bytes, *, whole: bool) -> Kind:
    """What begins with these bytes (`whole`: they are all there is), or Final saying what it looks like."""
    if not head:
        raise Final("DOCUMENT_EMPTY", "The document is empty: it has 0 bytes.")
    for mark, kind in _KINDS:
        if head.startswith(mark):
            return kind
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return Kind.WEBP
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        return Kind.BMP
    other = _other(head)
    if other is None and b"%PDF-" in head[:_PDF_HEADER_WITHIN]:
        return Kind.PDF
    if other is None and _is_text(head, whole=whole):
        return Kind.TEXT
    raise Final(
        "UNSUPPORTED_MEDIA_TYPE",
        f"The document looks like {other or _unknown(head)};"
        " the service reads PDF, PNG, JPEG, TIFF, WebP, BMP, GIF and plain text.",
    )


def _other(head: bytes) -> str | None:
    for mark, name in _OTHERS:
        if head.startswith(mark):
            return name
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return "a HEIC or AVIF picture" if brand in {b"heic", b"heix", b"mif1", b"avif"} else "a video"
    if head.startswith(b"RIFF"):
        return "a recording or a video"
    start = head.decode("latin-1").lstrip("ï»¿ \t\r\n").lower()
    return next((name for mark, name in _MARKUP if start.startswith(mark)), None)


def _unknown(head: bytes) -> str:
    """What it may be after all: a text of one byte a letter has no control characters either."""
    if head.translate(None, _NOT_IN_TEXT) != head:
        return "nothing this service knows"
    return "text in an older encoding, such as Windows-1252 (save it as UTF-8)"


def _is_text(head: bytes, *, whole: bool) -> bool:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    if head.translate(None, _NOT_IN_TEXT) != head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return False
    return True
