from __future__ import annotations

from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from lucius.sdk.serving.outcomes import Final
from lucius.services.ocr import OcrService
from lucius.services.ocr.payload import OcrPayload, check_amount, check_format, selected

SCHEMA: dict[str, Any] = YAML(typ="safe").load(files("lucius.protocols").joinpath("ocr.yaml").read_text())[
    "steps"
][0]["payload_schema"]

ranges = st.lists(
    st.one_of(
        st.integers(0, 10**30).map(str),
        st.tuples(st.integers(0, 99), st.integers(0, 99)).map("{0[0]}-{0[1]}".format),
    ),
    min_size=1,
    max_size=5,
).map(",".join)
payloads = st.fixed_dictionaries(
    {},
    optional={
        "language": st.one_of(
            st.text(min_size=2, max_size=35),
            st.lists(st.text(min_size=2, max_size=35), min_size=1, max_size=16),
        ),
        "pages": st.one_of(ranges, st.lists(st.integers(1, 10**25), min_size=1, max_size=20)),
        "dpi": st.one_of(st.integers(36, 1200), st.sampled_from([150.0, 36.0])),
        "output_format": st.one_of(st.sampled_from(["text", "JSON"]), st.text(min_size=1, max_size=32)),
        "max_pages": st.one_of(st.integers(), st.text(max_size=3)),
        "chunk_size": st.integers(),
    },
)


@given(payloads, st.integers(1, 50))
def test_what_the_protocol_allows_is_taken_or_refused_in_words(payload: dict[str, Any], count: int) -> None:
    """Every payload that passes the protocol's schema is read, or ends in a Final with a message."""
    assert jsonschema_rs.is_valid(SCHEMA, payload)
    try:
        read = OcrService().read_payload(payload)
        check_format(read.output_format)
        numbers = selected(read.pages, count)
    except Final as refused:
        code, numbers = refused.code, []
    else:
        code = ""
    assert numbers or code in {"INVALID_PAYLOAD", "PAGE_OUT_OF_RANGE", "UNSUPPORTED_OUTPUT_FORMAT"}
    assert numbers == sorted(set(numbers) & set(range(1, count + 1)))


@pytest.mark.parametrize(
    ("pages", "numbers"),
    [
        (None, [1, 2, 3, 4, 5, 6, 7]),
        ("1-3,7", [1, 2, 3, 7]),
        ([3, 1, 2, 3], [1, 2, 3]),
        ("7,1-2,2", [1, 2, 7]),
        ("07", [7]),
    ],
)
def test_pages_are_taken_in_the_documents_order(pages: Any, numbers: list[int]) -> None:
    """However pages are written, each is read once and in the order of the document."""
    assert selected(pages, 7) == numbers


@pytest.mark.parametrize("pages", ["0", "8", "1-8", "9999999999999999999-99999999999999999999", [8], "0-3"])
def test_pages_that_do_not_exist_are_refused(pages: Any) -> None:
    """A page the document does not have is named in the refusal, with how many there are."""
    with pytest.raises(Final, match=r"^PAGE_OUT_OF_RANGE: Page \d+ .* has 7 pages"):
        selected(pages, 7)


def test_a_range_that_runs_backwards_is_refused() -> None:
    """Pages 3-1 are a slip, not an empty wish."""
    with pytest.raises(Final, match=r"INVALID_PAYLOAD.*write 1-3"):
        selected("3-1", 7)


def test_the_smaller_of_both_limits_counts() -> None:
    """Neither the payload nor the service lets more pages through than the other allows."""
    check_amount(5, payload=OcrPayload(max_pages=5), limit=10)
    with pytest.raises(Final, match=r"TOO_MANY_PAGES: 6 pages .* 5 are allowed"):
        check_amount(6, payload=OcrPayload(max_pages=5), limit=10)
    with pytest.raises(Final, match=r"TOO_MANY_PAGES: 11 pages .* 10 are allowed"):
        check_amount(11, payload=OcrPayload(max_pages=50), limit=10)


def test_an_unknown_format_is_refused_by_name() -> None:
    """A format that is not written is refused, and the message says which are."""
    with pytest.raises(Final, match=r"UNSUPPORTED_OUTPUT_FORMAT.*not 'hocr'"):
        check_format("hocr")


def test_a_password_is_not_shown() -> None:
    """A payload that is logged does not give its password away."""
    assert "sesame" not in repr(OcrPayload(password="sesame"))
