from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lucius.sdk.serving.outcomes import Final
from lucius.services.ocr import pdf, pictures
from lucius.services.ocr.engine import Recognised
from lucius.services.ocr.reading import let_go, look, read_run
from lucius.services.ocr.records import PageText, Task
from lucius.testing.documents import (
    REPORT,
    Page,
    blank_page,
    broken_pdfs,
    encrypted_pdf,
    image_bytes,
    image_page,
    pdf_bytes,
    picture,
    text_page,
    text_pdf,
)

Given = Callable[..., Task]
SHORT = "Total costs: EUR 9,126,850\nDue date: 30 April 2031"


@pytest.fixture
def given_file(tmp_path: Path) -> Iterator[Given]:
    """A file to be read, by its content; it is let go of afterwards."""

    def keep(data: bytes, **more: Any) -> Task:
        path = tmp_path / "document"
        path.write_bytes(data)
        usual: dict[str, Any] = {"password": None, "dpi": 150, "threads": 1}
        usual |= {"max_pixels": 25_000_000, "max_picture_pixels": 120_000_000}
        return Task(path=str(path), **(usual | more))

    yield keep
    let_go()


@pytest.fixture
def seen(monkeypatch) -> list[Any]:
    """The pictures that would be recognised; nothing is found on them."""
    shapes: list[Any] = []

    def blind(shown: Any, threads: int) -> Recognised:
        shapes.append(shown)
        return Recognised()

    monkeypatch.setattr(pdf, "recognise", blind)
    monkeypatch.setattr(pictures, "recognise", blind)
    return shapes


def words_right(page: PageText, text: str) -> float:
    """The share of the words that are on the page."""
    read = page.text.split()
    wanted = text.split()
    return sum(word in read for word in wanted) / len(wanted)


def test_a_text_layer_is_taken_as_it_is(given_file: Given, seen: list[Any]) -> None:
    """A page with text gives exactly that text, with paragraphs, and is not rendered."""
    task = given_file(pdf_bytes([text_page(REPORT[0]), text_page(REPORT[1])]))
    assert look(task).pages == 2
    first, second = read_run(task, [1, 2])
    assert first.text == REPORT[0].strip()
    assert second.text == REPORT[1].strip()
    assert (first.method, first.confidence, first.lines[0].text) == (
        "text-layer",
        1.0,
        "NORTHFIELD WATER WORKS",
    )
    assert not seen


@pytest.mark.parametrize("rotate", [0, 90])
def test_a_picture_of_text_is_recognised(given_file: Given, rotate: int) -> None:
    """At least 95 % of the words of an image-only page are right, scanned upright or sideways."""
    task = given_file(pdf_bytes([image_page(REPORT[2], rotate=rotate)]))
    (page,) = read_run(task, [1])
    assert page.method == "recognised"
    assert words_right(page, REPORT[2]) >= 0.95
    assert page.text.index("Finance") < page.text.index("Surplus") < page.text.index("Invoice")
    assert (page.confidence or 0) > 0.9
    left, top, right, low = page.lines[0].box or (0, 0, 0, 0)
    assert 50 < left < right < 595
    assert 50 < top < low < 100


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_picture_on_its_head_is_turned(given_file: Given, turns: int) -> None:
    """A page that was fed in wrongly is read all the same, and the record says how it was turned."""
    task = given_file(pdf_bytes([image_page(SHORT)]).replace(b"/Rotate 0", b"/Rotate %d" % (90 * turns)))
    (page,) = read_run(task, [1])
    assert page.text.split() == SHORT.split()
    assert page.turned == (360 - 90 * turns) % 360
    assert (page.width, page.height) == (595.2, 841.9)


@pytest.mark.parametrize("shown", [0, 90, 180, 270])
@pytest.mark.parametrize("drawn", [0, 90, 180, 270])
def test_a_turned_page_of_text_is_read_in_order(given_file: Given, drawn: int, shown: int) -> None:
    """Lines come from first to last however the page is turned and however its text lies on it."""
    data = pdf_bytes([text_page(REPORT[1], rotate=drawn)])
    task = given_file(data.replace(b"/Rotate %d" % drawn, b"/Rotate %d" % shown))
    (page,) = read_run(task, [1])
    assert page.text == REPORT[1].strip()
    assert page.turned == (drawn - shown) % 360
    assert page.lines[0].box == (60.2, 63.1, 124.1, 73.3)


def test_a_run_ends_where_recognition_begins(given_file: Given, seen: list[Any]) -> None:
    """A call reads several pages of text, or one that is recognised; never both."""
    task = given_file(pdf_bytes([text_page("one"), text_page("two"), image_page("three"), text_page("four")]))
    assert [page.page for page in read_run(task, [1, 2, 3, 4])] == [1, 2]
    assert [page.page for page in read_run(task, [3, 4])] == [3]
    assert [page.page for page in read_run(task, [4])] == [4]
    assert len(seen) == 1


def test_a_blank_page_is_empty(given_file: Given, seen: list[Any]) -> None:
    """Nothing on a page is no failure and costs no recognition."""
    (page,) = read_run(given_file(pdf_bytes([blank_page()])), [1])
    assert (page.method, page.text, page.confidence) == ("empty", "", None)
    assert not seen


def test_a_stamp_on_a_scan_does_not_hide_it(given_file: Given, seen: list[Any]) -> None:
    """A page number in the text layer of a scanned page does not pass for its text."""
    scan = image_page(SHORT)
    stamped = scan.content + b"\n" + text_page("3").content
    page = Page(content=stamped, jpeg=scan.jpeg, jpeg_size=scan.jpeg_size)
    (read,) = read_run(given_file(pdf_bytes([page])), [1])
    assert len(seen) == 1
    assert (read.method, read.text) == ("text-layer", "3")  # nothing was recognised, so the stamp is all


def test_a_layer_of_rubbish_is_not_believed(given_file: Given, seen: list[Any]) -> None:
    """A font that hides its letters gives control characters; the page is looked at instead."""
    rubbish = Page(content=b"BT /F1 11 Tf 60 700 Td <" + b"0102030405060e0f" * 9 + b"> Tj ET")
    (page,) = read_run(given_file(pdf_bytes([rubbish])), [1])
    assert len(seen) == 1
    assert page.text == ""


def test_a_huge_page_is_rendered_within_the_limit(given_file: Given, seen: list[Any]) -> None:
    """A page of 200 by 200 inches at 1,200 dots takes no more pixels than allowed."""
    scan = image_page(SHORT)
    page = Page(content=scan.content, jpeg=scan.jpeg, jpeg_size=scan.jpeg_size, width=14_400, height=14_400)
    task = given_file(pdf_bytes([page]), dpi=1200, max_pixels=1_000_000)
    (read,) = read_run(task, [1])
    assert 900_000 < seen[0].shape[0] * seen[0].shape[1] < 1_010_000
    assert read.dpi == 5.0


def test_a_picture_too_large_to_decode_is_refused(given_file: Given) -> None:
    """Pixels are counted before they are decoded, in a PDF and in a file of its own."""
    with pytest.raises(Final, match=r"IMAGE_TOO_LARGE.*page 1"):
        read_run(given_file(pdf_bytes([image_page(SHORT)]), max_picture_pixels=1000), [1])
    with pytest.raises(Final, match=r"IMAGE_TOO_LARGE.*413 × 585"):
        read_run(given_file(image_bytes(["x"], "PNG", dpi=50), max_picture_pixels=1000), [1])
    head = b"IHDR" + struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0)
    vast = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\r" + head + struct.pack(">I", zlib.crc32(head))
    with pytest.raises(Final, match=r"IMAGE_TOO_LARGE.*50000 × 50000"):
        read_run(given_file(vast + b"\0\0\0\0IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))), [1])


@pytest.mark.parametrize("wrong", broken_pdfs())
def test_a_broken_pdf_is_said_to_be_broken(given_file: Given, wrong: str) -> None:
    """Whatever is missing from a PDF, the refusal has one code."""
    with pytest.raises(Final, match="PDF_BROKEN"):
        look(given_file(broken_pdfs()[wrong]))


def test_a_cut_end_is_noticed(given_file: Given) -> None:
    """A PDF that PDFium could repair is read, and marked as perhaps not whole."""
    data = pdf_bytes([text_page("A page that is there.")])
    assert look(given_file(data)).complete
    cut = given_file(data[: data.index(b"startxref")])
    assert not look(cut).complete
    assert read_run(cut, [1])[0].text == "A page that is there."


def test_a_pdf_without_pages_is_empty(given_file: Given) -> None:
    """A PDF may be in order and have nothing in it."""
    with pytest.raises(Final, match="DOCUMENT_EMPTY: The PDF has no pages"):
        look(given_file(pdf_bytes([])))


def test_an_encrypted_pdf_asks_for_its_password(given_file: Given, tmp_path: Path) -> None:
    """Without the password, or with a wrong one, the refusal says so; with it the text is read."""
    data = encrypted_pdf(["A secret page."], tmp_path / "locked.pdf", password="sesame").read_bytes()
    with pytest.raises(Final, match=r"PDF_ENCRYPTED.*needs a password"):
        look(given_file(data))
    with pytest.raises(Final, match=r"PDF_ENCRYPTED.*does not open it"):
        look(given_file(data, password="simsim"))
    assert read_run(given_file(data, password="sesame"), [1])[0].text == "A secret page."


def test_words_divided_at_the_end_of_a_line_are_whole(given_file: Given) -> None:
    """A reader who searches for a word finds it although the page hyphenates it."""
    (page,) = read_run(given_file(pdf_bytes([text_page("The sprink-\nler is on – costs €5, größer.")])), [1])
    assert page.text == "The sprinkler is on – costs €5, größer."


def test_a_filled_in_field_is_read(given_file: Given) -> None:
    """What somebody typed into a form stands in the text beside what was printed."""
    drawn = b"BT /F1 11 Tf 2 5 Td (Filled in by hand) Tj ET"
    field = (
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 3 0 R >> >>"
        b" /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn)
    )
    note = b"/Annots [<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [60 600 260 620] /AP << /N 6 0 R >> >>]"
    data = pdf_bytes([text_page("Name:")])
    data = data.replace(b"/Contents 5 0 R", b"/Contents 5 0 R " + note).replace(
        b"obj\nnull", b"obj\n" + field
    )
    (page,) = read_run(given_file(data), [1])
    assert page.text.split("\n") == ["Name:", "Filled in by hand"]


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_a_picture_file_is_recognised(given_file: Given, form: str) -> None:
    """A picture is a document of one page, or of as many as its TIFF has; each is read."""
    texts = [SHORT] if form == "PNG" else [SHORT, "The second page of a fax"]
    task = given_file(image_bytes(texts, form))
    assert look(task).pages == len(texts)
    read = [read_run(task, [number])[0] for number in range(1, len(texts) + 1)]
    assert [page.text.split() for page in read] == [text.split() for text in texts]
    assert {(page.unit, page.method) for page in read} == {("pixel", "recognised")}


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_mode_is_shown_as_black_on_white(
    given_file: Given, seen: list[Any], tmp_path: Path, mode: str
) -> None:
    """Transparent, paletted and deep pictures reach recognition as eight-bit colour."""
    shown = picture("ink", dpi=72)
    if mode == "I;16":
        from PIL import Image

        shown = Image.fromarray(np.asarray(shown).astype(np.uint16) * 257)
    else:
        shown = shown.convert(mode)
    form = "TIFF" if mode in {"CMYK", "F", "I"} else "PNG"
    shown.save(tmp_path / "shown", form)
    read_run(given_file((tmp_path / "shown").read_bytes()), [1])
    assert seen[0].shape == (842, 595, 3)
    assert seen[0].dtype == np.uint8
    assert seen[0][0, 0].tolist() == [255, 255, 255]
    assert seen[0].min() < 60


def test_a_broken_picture_is_said_to_be_broken(given_file: Given) -> None:
    """A picture that ends too soon is refused with the code of pictures."""
    data = image_bytes([SHORT], "PNG", dpi=72)
    with pytest.raises(Final, match=r"IMAGE_BROKEN.*PNG"):
        read_run(given_file(data[: len(data) // 2]), [1])
    with pytest.raises(Final, match="IMAGE_BROKEN"):
        look(given_file(data[:20]))


def test_plain_text_is_its_own_text_layer(given_file: Given) -> None:
    """A text file comes back as it is, a form feed in it begins a page."""
    task = given_file("Größe: 5\r\nline two\f\ffin".encode())
    assert look(task).media_type == "text/plain"
    pages = read_run(task, [1, 2, 3])
    assert [(page.text, page.method) for page in pages] == [
        ("Größe: 5\nline two", "text-layer"),
        ("", "empty"),
        ("fin", "text-layer"),
    ]


def test_another_document_takes_the_place_of_the_last(given_file: Given, tmp_path: Path) -> None:
    """The process that reads keeps one document open, and never mistakes one for another."""
    assert read_run(given_file(pdf_bytes([text_page("first")])), [1])[0].text == "first"
    assert read_run(given_file(pdf_bytes([text_page("second")])), [1])[0].text == "second"
    other = text_pdf(["other"], tmp_path / "other.pdf")
    elsewhere = msgspec.structs.replace(given_file(b"third"), path=str(other))
    assert read_run(elsewhere, [1])[0].text == "other"
