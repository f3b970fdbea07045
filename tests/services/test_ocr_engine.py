from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.services.ocr import engine
from lucius.services.ocr.engine import Recognised, confidence_of, recognise, search_side
from lucius.services.ocr.records import Line

LINES = (Line(text="some text", box=(0, 0, 90, 10), confidence=0.99),)


@given(st.integers(1, 16_000), st.integers(1, 16_000))
def test_looking_for_text_costs_no_more_than_a_large_page(height: int, width: int) -> None:
    """However large a picture is, the one that is searched has a bounded number of pixels."""
    shrunk = min(1.0, search_side(height, width) / max(height, width))
    assert height * width * shrunk**2 <= 5120 * 5120 / 4


def test_small_print_on_a_strip_is_kept() -> None:
    """A receipt of 600 by 6,000 pixels is not shrunk to the size of a page."""
    assert search_side(6000, 600) == 5120
    assert search_side(1754, 1240) == 1280


@pytest.mark.parametrize(
    ("first", "second", "turned"),
    [
        (Recognised(text="ok", lines=LINES, confidence=0.99), None, 0),
        (
            Recognised(text="dn", lines=LINES, confidence=0.7),
            Recognised(text="up", lines=LINES, confidence=0.99),
            180,
        ),
        (
            Recognised(text="ok", lines=LINES, confidence=0.8),
            Recognised(text="no", lines=LINES, confidence=0.6),
            0,
        ),
        (
            Recognised(text="side", lines=LINES, confidence=0.99, sideways=True),
            Recognised(text="up", lines=LINES, confidence=0.99),
            90,
        ),
        (Recognised(), None, 0),
    ],
)
def test_a_page_is_turned_only_when_that_helps(
    monkeypatch, first: Recognised, second: Recognised | None, turned: int
) -> None:
    """A page that reads well is read once; a doubtful one is turned, and the better reading stands."""
    readings = iter([first] if second is None else [first, second])

    def read(picture: Any, threads: int) -> Recognised:
        return next(readings)

    monkeypatch.setattr(engine, "_read", read)
    assert recognise(np.zeros((20, 20, 3), np.uint8), 1).turned == turned
    assert next(readings, None) is None


def test_long_lines_weigh_more() -> None:
    """A page's confidence is that of its text, not of its boxes."""
    lines = (Line(text="x" * 90, confidence=1.0), Line(text="y" * 10, confidence=0.5))
    assert confidence_of(lines) == 0.95
    assert confidence_of(()) == 0.0
