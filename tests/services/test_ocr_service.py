from __future__ import annotations

from pathlib import Path

import pytest

from lucius.sdk.serving.cancel import CancelToken
from lucius.sdk.serving.outcomes import Cancelled, Final, Retryable
from lucius.sdk.serving.service import load
from lucius.sdk.serving.trial import Trial, trial
from lucius.services.ocr import OcrService, OcrSettings
from lucius.testing.documents import REPORT, encrypted_pdf, numbered_pages, pdf_bytes, report_pdf, text_page


async def test_the_report_is_read_page_by_page(tmp_path: Path) -> None:
    """A PDF with a scanned page in it gives the text of all its pages, and progress that names them."""
    tried = await trial(
        load("lucius.services.ocr:OcrService"),
        document=report_pdf(tmp_path / "report.pdf"),
        payload={"language": "en", "output_format": "text", "chunk_size": 7},
        directory=tmp_path,
    )
    pages = tried.text().split("\f")
    assert [pages[0], pages[1], pages[3]] == [REPORT[n].strip() for n in (0, 1, 3)]
    wanted = REPORT[2].split()
    assert sum(word in pages[2].split() for word in wanted) >= 0.95 * len(wanted)
    assert [message for _, message in tried.progress] == [
        "4 pages",
        "page 2 of 4, text layer",
        "page 3 of 4, recognised",
        "page 4 of 4, text layer",
    ]
    assert tried.progress[-1][0] == 1.0
    _check_record(tried)


def _check_record(tried: Trial) -> None:
    record = tried.json("pages.json")
    assert record["document"] | {"size": 0} == {
        "media_type": "application/pdf",
        "pages": 4,
        "size": 0,
        "complete": True,
        "language": "en",
    }
    assert [page["method"] for page in record["pages"]] == [
        "text-layer",
        "text-layer",
        "recognised",
        "text-layer",
    ]
    assert record["summary"] == {"text-layer": 3, "recognised": 1}
    assert record["pages"][2]["characters"] == len(tried.text().split("\f")[2])
    assert record["pages"][2]["lines"][0]["text"] == "Finance"
    assert tried.output.output is not None
    assert [each.name for each in tried.output.artifacts] == ["output.txt", "pages.json"]
    assert tried.output.output.name == "output.txt"


async def test_three_hundred_pages_are_all_right(tmp_path: Path) -> None:
    """A long PDF gives each page its own text, in order, in a few calls."""
    texts = numbered_pages(300)
    document = pdf_bytes([text_page(text) for text in texts])
    tried = await trial(OcrService(), document=document, directory=tmp_path)
    assert tried.text().split("\f") == texts
    assert 2 < len(tried.progress) < 60
    assert [page["page"] for page in tried.json("pages.json")["pages"]] == list(range(1, 301))


async def test_pages_not_asked_for_are_empty_parts(tmp_path: Path) -> None:
    """Page n stays the n-th part of the text, whichever pages were read."""
    document = pdf_bytes([text_page(text) for text in numbered_pages(5)])
    tried = await trial(OcrService(), document=document, payload={"pages": "2,4"}, directory=tmp_path)
    texts = numbered_pages(5)
    assert tried.text().split("\f") == ["", texts[1], "", texts[3], ""]
    methods = [page["method"] for page in tried.json("pages.json")["pages"]]
    assert methods == ["skipped", "text-layer", "skipped", "text-layer", "skipped"]


@pytest.mark.parametrize(
    ("document", "payload", "code"),
    [
        (b"", {}, "DOCUMENT_EMPTY"),
        (b"%PDF-1.4\nnothing", {}, "PDF_BROKEN"),
        (b"PK\x03\x04", {}, "UNSUPPORTED_MEDIA_TYPE"),
        (b"\x89PNG\r\n\x1a\n", {}, "IMAGE_BROKEN"),
        (b"text", {"pages": "2"}, "PAGE_OUT_OF_RANGE"),
        (b"a\fb\fc", {"max_pages": 2}, "TOO_MANY_PAGES"),
        (b"text", {"output_format": "hocr"}, "UNSUPPORTED_OUTPUT_FORMAT"),
        (b"text", {"dpi": 5}, "INVALID_PAYLOAD"),
        (b"x" * 2000, {}, "DOCUMENT_TOO_LARGE"),
    ],
)
async def test_what_cannot_be_read_fails_for_good(
    tmp_path: Path, document: bytes, payload: dict, code: str
) -> None:
    """Each reason has its code, crosses the process it was found in, and is not tried again."""
    service = OcrService(OcrSettings(max_bytes=1000))
    with pytest.raises(Final) as refused:
        await trial(service, document=document, payload=payload, directory=tmp_path)
    assert refused.value.code == code
    assert " " in refused.value.message


async def test_an_encrypted_pdf_opens_with_the_payloads_password(tmp_path: Path) -> None:
    """The password opens the document and is not written into the result."""
    document = encrypted_pdf(["A secret page."], tmp_path / "locked.pdf", password="sesame")
    with pytest.raises(Final, match="PDF_ENCRYPTED"):
        await trial(OcrService(), document=document, directory=tmp_path / "without")
    tried = await trial(
        OcrService(), document=document, payload={"password": "sesame"}, directory=tmp_path / "with"
    )
    assert tried.text() == "A secret page."
    assert "sesame" not in tried.text("pages.json")


async def test_a_cancelled_job_stops_between_pages(tmp_path: Path) -> None:
    """Work that nobody wants any more ends at the next page and writes nothing."""
    cancel = CancelToken()
    cancel.request("The job was cancelled.")
    with pytest.raises(Cancelled):
        await trial(OcrService(), document=b"text", directory=tmp_path, cancel=cancel)
    assert not list((tmp_path / "workspace").rglob("*.*"))


async def test_a_page_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    """A page nobody can read in time fails the document instead of holding the service for ever."""
    service = OcrService(OcrSettings(page_seconds=0.001))
    with pytest.raises(Final, match=r"PAGE_TOO_SLOW: A page took longer than 0\.001 s"):
        await trial(service, document=b"text", directory=tmp_path)


def _forms_within_forms(depth: int) -> bytes:
    """A small PDF whose one page draws a form ten times, which draws another ten times, and so on."""
    forms = [
        f"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</F {number + 1} 0 R>>>>/Length 60>>"
        f"stream\n{'/F Do ' * 10}\nendstream"
        for number in range(4, 4 + depth)
    ]
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</F 4 0 R>>>>/Contents 4 0 R>>",
        *forms,
        "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 14>>stream\n0 0 10 10 re f\nendstream",
    ]
    body = "".join(f"{number} 0 obj\n{each}\nendobj\n" for number, each in enumerate(objects, start=1))
    return f"%PDF-1.7\n{body}trailer <</Root 1 0 R>>\n%%EOF\n".encode()


async def test_a_document_that_wants_all_memory_ends_its_own_process_only(tmp_path: Path) -> None:
    """A few kilobytes that unfold to gigabytes fail within the limit, and the next document is read."""
    service = OcrService(OcrSettings(max_memory=256 * 1024**2))
    with pytest.raises(Retryable) as failed:
        await trial(service, document=_forms_within_forms(30), directory=tmp_path / "bomb")
    assert failed.value.code == "WORKER_DIED"
    tried = await trial(service, document=pdf_bytes([text_page("All is well.")]), directory=tmp_path / "next")
    assert tried.text().startswith("All is well.")
