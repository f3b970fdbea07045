from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.sdk.serving.outcomes import Final
from lucius.services.ocr.sniffing import HEAD, Kind, kind_of
from lucius.testing.documents import image_bytes, pdf_bytes, text_page


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
def test_a_picture_is_known_by_its_bytes(form: str) -> None:
    """Each format of pictures is recognised without a name."""
    assert kind_of(image_bytes(["x"], form, dpi=40)[:HEAD], whole=False) is Kind[form]


def test_a_pdf_is_known_even_behind_rubbish() -> None:
    """A PDF that a mail gateway put a few bytes before is still a PDF."""
    data = pdf_bytes([text_page("x")])
    assert kind_of(data, whole=True) is Kind.PDF
    assert kind_of(b"\0\r\n--part--\r\n" + data, whole=True) is Kind.PDF


@pytest.mark.parametrize(
    "data",
    [b"hello", "Größe: 5 °C\n".encode(), b"\xef\xbb\xbfhello", "Größe".encode("utf-16"), b"a,b\r\n1,2\r\n"],
)
def test_plain_text_is_text(data: bytes) -> None:
    """Text in UTF-8, or UTF-16 with its mark, is taken as it is."""
    assert kind_of(data, whole=True) is Kind.TEXT


def test_a_letter_cut_by_the_look_is_no_error() -> None:
    """Text whose looked-at part ends within a letter is still text; text that ends so itself is not."""
    cut = "ä".encode()[:1]
    assert kind_of(b"a" * 10 + cut, whole=False) is Kind.TEXT
    with pytest.raises(Final, match="UNSUPPORTED_MEDIA_TYPE"):
        kind_of(b"a" * 10 + cut, whole=True)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"PK\x03\x04rest", "ZIP"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office"),
        (b"<!DOCTYPE html><p>hi", "HTML"),
        (b"\n <?xml version='1.0'?>", "XML"),
        (b"{\\rtf1 hi}", "RTF"),
        (b"\0\0\0\x18ftypheic", "HEIC"),
        (b"\0\0\0\x18ftypisom", "video"),
        (b"\x7fELF\x02", "program"),
        (b"\x01\x02\x03\x04", "nothing this service knows"),
        ("Schöne Grüße".encode("cp1252"), "save it as UTF-8"),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, name: str) -> None:
    """A refusal says what the file looks like and what would be read."""
    with pytest.raises(Final, match=f"UNSUPPORTED_MEDIA_TYPE.*{name}.*PDF") as refused:
        kind_of(data, whole=True)
    assert not refused.value.retryable


def test_nothing_is_a_document_that_is_empty() -> None:
    """0 bytes are no broken PDF."""
    with pytest.raises(Final, match="DOCUMENT_EMPTY"):
        kind_of(b"", whole=True)


@given(st.binary(max_size=64), st.booleans())
def test_any_bytes_are_something_or_refused(data: bytes, whole: bool) -> None:
    """No content makes the look itself fail."""
    try:
        found: str = kind_of(data, whole=whole)
    except Final as refused:
        found = refused.code
    assert found in {*Kind, "DOCUMENT_EMPTY", "UNSUPPORTED_MEDIA_TYPE"}
