from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lucius.sdk.serving.outcomes import Final
from lucius.services.ocr import pdf, pictures
from lucius.services.ocr.engine import Recognised
from lucius.services.ocr.reading import let_go, look, read_run
from lucius.services.ocr.records import Task
from lucius.testing.documents import image_bytes, image_page, numbered_pages, pdf_bytes, text_page

WHOLE = pdf_bytes(
    [text_page(numbered_pages(2)[0]), image_page("scan", dpi=40), text_page("third", rotate=90)]
)
LOCKED = pdf_bytes([text_page("locked")], password="")
PICTURES = [image_bytes(["x"], form, dpi=30) for form in ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")]
CODES = {
    *("PDF_BROKEN", "PDF_ENCRYPTED", "IMAGE_BROKEN", "IMAGE_TOO_LARGE"),
    *("DOCUMENT_EMPTY", "UNSUPPORTED_MEDIA_TYPE"),
}

flips = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=12)
bounded = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def _nobody_looks(monkeypatch) -> Any:
    """What is under test is reading damaged files, not recognising what they show."""
    for module in (pdf, pictures):
        monkeypatch.setattr(module, "recognise", lambda shown, threads: Recognised())
    yield
    let_go()


def ends_well(data: bytes, path: Path) -> None:
    """Read all of it: it gives pages, or a Final that is known."""
    path.write_bytes(data)
    let_go()
    task = Task(
        path=str(path), password=None, dpi=40, threads=1, max_pixels=250_000, max_picture_pixels=4_000_000
    )
    try:
        pages = look(task).pages
        read = [read_run(task, [number])[0] for number in range(1, min(pages, 5) + 1)]
    except Final as refused:
        code, read = refused.code, []
    else:
        code = ""
    assert code in CODES or read
    assert not any("\f" in page.text for page in read)


def flipped(data: bytes, places: list[tuple[float, int]]) -> bytes:
    """The data with some bytes replaced."""
    changed = bytearray(data)
    for place, value in places:
        changed[int(place * len(changed))] = value
    return bytes(changed)


@bounded
@given(st.sampled_from([WHOLE, LOCKED]), st.floats(0, 1))
def test_a_pdf_cut_anywhere_ends_in_text_or_a_refusal(tmp_path: Path, data: bytes, share: float) -> None:
    """No place to cut a PDF leads to anything but pages or a known code."""
    ends_well(data[: int(share * len(data))], tmp_path / "cut")


@bounded
@given(st.sampled_from([WHOLE, LOCKED]), flips)
def test_a_pdf_with_flipped_bytes_ends_in_text_or_a_refusal(
    tmp_path: Path, data: bytes, places: list[tuple[float, int]]
) -> None:
    """No damaged bytes in a PDF lead to anything but pages or a known code."""
    ends_well(flipped(data, places), tmp_path / "flipped")


@bounded
@given(st.sampled_from(PICTURES), flips, st.floats(0.5, 1))
def test_a_damaged_picture_ends_in_text_or_a_refusal(
    tmp_path: Path, data: bytes, places: list[tuple[float, int]], share: float
) -> None:
    """No damage to a picture leads to anything but a page or a known code."""
    # Damage near the beginning tells most: that is where sizes and offsets stand.
    near = [(place**4, value) for place, value in places]
    ends_well(flipped(data, near)[: int(share * len(data))], tmp_path / "picture")
