from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.errors import Invalid
from lucius.wire.timestamps import iso, parse_iso

LAST = 253_402_300_799_999
FIRST = -62_135_596_800_000


def test_the_wire_form() -> None:
    """Milliseconds, UTC, Z."""
    assert iso(1_769_508_120_007) == "2026-01-27T10:02:00.007Z"


@given(st.integers(FIRST, LAST))
def test_there_and_back(ms: int) -> None:
    """Every representable millisecond survives the wire, and the standard library agrees."""
    text = iso(ms)
    assert parse_iso(text) == ms
    assert datetime.fromisoformat(text).astimezone(UTC).strftime("%f") == f"{ms % 1000:03d}000"


@given(st.integers(FIRST, LAST - 1), st.integers(1, 100_000))
def test_text_sorts_as_time_does(ms: int, later: int) -> None:
    """The wire form can be compared as text."""
    assert iso(ms) < iso(min(ms + later, LAST))


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:01.234567Z", 1234),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_other_spellings(text: str, ms: int) -> None:
    """Offsets, missing and excess fractions are understood."""
    assert parse_iso(text) == ms


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-01-27", "2026-01-27T10:02:00", "2026-13-01T00:00:00Z", "1" * 99]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """No guessing: a time without a zone, or no time at all, is refused."""
    with pytest.raises(Invalid) as refusal:
        parse_iso(text)
    assert refusal.value.code == "INVALID_TIMESTAMP"
