"""Document to envelope."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lucius.errors import Invalid
from lucius.testing.hostile import valid
from lucius.wire.envelope import REQUIRED, Envelope, read_envelope

OPTIONAL: dict[str, Any] = {
    "mode": "BURST",
    "doc_id": "Claim/17.pdf",
    "idempotency_key": "key 1",
    "callback_urls": ["https://hooks.example.com/in?x=1", "https://[2606:4700::1]:8443/in"],
    "correlation_id": "case-7",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "not_before": "2031-05-04T12:00:00.0019+02:00",
    "priority": 9,
}


def _refusal(document: dict[str, Any], header_key: str | None = None) -> Invalid:
    with pytest.raises(Invalid) as refusal:
        read_envelope(document, header_key=header_key)
    return refusal.value


def test_everything_is_read() -> None:
    """Every field arrives in the one spelling used inside."""
    envelope = read_envelope(valid(**OPTIONAL, tenant_id="\tAcMe ", **{"x-team": [1]}))
    assert envelope == Envelope(
        tenant_id="acme",
        request_type="OCR",
        input_ref={"uri": "s3://scans/acme/claim-17.pdf"},
        output_ref={"uri": "s3://results/acme/claim-17/"},
        payload={},
        schema_version="1",
        mode="BURST",
        doc_id="Claim/17.pdf",
        idempotency_key="key 1",
        callback_urls=("https://hooks.example.com/in?x=1", "https://[2606:4700::1]:8443/in"),
        correlation_id="case-7",
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        not_before=1935655200001,
        priority=9,
        extensions={"x-team": [1]},
    )


@pytest.mark.parametrize("name", OPTIONAL)
def test_null_is_absent(name: str) -> None:
    """An optional field that is null counts as not sent."""
    assert read_envelope(valid(**{name: None})) == read_envelope(valid())


@pytest.mark.parametrize("version", ["1", "1.0", "v1"])
def test_versions(version: str) -> None:
    """Each spelling of version 1 is version 1."""
    assert read_envelope(valid(schema_version=version)).schema_version == "1"


@pytest.mark.parametrize(("sent", "mode"), [("DEFAULT", "DEFAULT"), ("SAFE", "DEFAULT"), (None, None)])
def test_modes(sent: str | None, mode: str | None) -> None:
    """SAFE is DEFAULT by another name; no mode stays no mode, for the tenant's settings to choose."""
    assert read_envelope(valid(mode=sent)).mode == mode


JUNK = st.one_of(
    st.booleans(),
    st.floats(),
    st.integers(10),
    st.integers(max_value=-1),
    st.just(b""),
    st.just(()),
    st.just([]),
)


@given(st.dictionaries(st.sampled_from([*REQUIRED, *OPTIONAL]), JUNK, min_size=1))
def test_values_of_another_type_are_never_converted(changes: dict[str, Any]) -> None:
    """Each field that holds something else is refused at its own pointer, all of them at once."""
    refusal = _refusal(valid(**OPTIONAL) | changes)
    assert {problem.pointer for problem in refusal.problems} == {f"/{name}" for name in changes}
    assert refusal.status == 422


@given(
    st.sets(st.sampled_from(REQUIRED), min_size=1),
    st.sets(st.from_regex(r"[a-w~/][a-z~/]{0,8}", fullmatch=True)),
)
def test_all_problems_are_told_at_once(missing: set[str], unknown: set[str]) -> None:
    """Whatever is missing and whatever is unknown is listed, each at its pointer."""
    unknown -= {*REQUIRED, *OPTIONAL}
    document = {name: value for name, value in valid().items() if name not in missing} | dict.fromkeys(
        unknown, 1
    )
    expected = {(f"/{name}", "REQUIRED") for name in missing} | {
        ("/" + name.replace("~", "~0").replace("/", "~1"), "UNKNOWN_FIELD") for name in unknown
    }
    refusal = _refusal(document)
    assert {(problem.pointer, problem.code) for problem in refusal.problems} == expected
    assert refusal.code == ("INVALID_ENVELOPE" if unknown else "REQUIRED")


TEXT = st.text(max_size=12) | st.text("aZ0-_./:@ \t\x1f\u212a\u0130", max_size=12)


@given(TEXT)
@example("\u212aelvin")
def test_tenants_that_pass_are_in_their_grammar(text: str) -> None:
    """Whatever is sent as tenant, what gets in is the strict grammar's and came from ASCII letters."""
    try:
        tenant = read_envelope(valid(tenant_id=text)).tenant_id
    except Invalid:
        return
    assert text.isascii()
    assert tenant == text.strip().lower()
    assert set(tenant) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
    assert tenant[0].isalnum()


@given(TEXT)
def test_documents_that_pass_are_in_their_grammar(text: str) -> None:
    """Whatever is sent as document, what gets in has no blank, control character or way up."""
    try:
        doc_id = read_envelope(valid(doc_id=text)).doc_id
    except Invalid:
        return
    assert doc_id == text.strip()
    assert doc_id
    assert doc_id.isascii()
    assert doc_id.isprintable()
    assert not {" ", ".."} & {doc_id, *doc_id, *doc_id.split("/")}


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001 - the zone is drawn beside it
    st.integers(-23 * 60, 23 * 60),
)
def test_times_are_read_exactly(moment: datetime, minutes: int) -> None:
    """A time in any zone becomes its milliseconds since the epoch, rounded down."""
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    expected = (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert read_envelope(valid(not_before=zoned.isoformat())).not_before == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2031-05-04",
        "2031-05-04T10:00Z",
        "2031-05-04T10:00:00",
        "2031-05-04 10:00:00Z",
        "20310504T100000Z",
        "2031-W18-7T10:00:00Z",
        "2031-05-04T24:00:00Z",
        "2031-05-04T10:00:60Z",
        "2031-05-04T10:00:00+24:00",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+01:00",
        "0001-01-01T00:00:00+23:59",
        "2031-05-04T10:00:00Z\n",
        "\u0662031-05-04T10:00:00Z",
    ],
)
def test_other_times_are_refused(text: str) -> None:
    """A time that is not a full RFC 3339 time with a zone, from 1970 on, is refused."""
    assert _refusal(valid(not_before=text)).code == "INVALID_NOT_BEFORE"


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("00-" + "1" * 32 + "-" + "2" * 16 + "-00", True),
        ("01-" + "1" * 32 + "-" + "2" * 16 + "-00-more", True),
        ("00-" + "1" * 32 + "-" + "2" * 16 + "-00-more", False),
        ("ff-" + "1" * 32 + "-" + "2" * 16 + "-00", False),
        ("00-" + "0" * 32 + "-" + "2" * 16 + "-00", False),
        ("00-" + "1" * 32 + "-" + "0" * 16 + "-00", False),
        ("00-" + "A" * 32 + "-" + "2" * 16 + "-00", False),
        ("00-" + "1" * 32 + "-" + "2" * 16 + "-00\n", False),
    ],
)
def test_traceparent(text: str, good: bool) -> None:
    """Only what W3C Trace Context allows is a traceparent."""
    if good:
        assert read_envelope(valid(traceparent=text)).traceparent == text
    else:
        assert _refusal(valid(traceparent=text)).code == "INVALID_TRACEPARENT"


@pytest.mark.parametrize(
    ("header", "body", "key"), [("a", None, "a"), (None, "a", "a"), ("a", "a", "a"), (None, None, None)]
)
def test_the_key_comes_from_header_or_body(header: str | None, body: str | None, key: str | None) -> None:
    """Either place gives the key; the same in both is no conflict."""
    assert read_envelope(valid(idempotency_key=body), header_key=header).idempotency_key == key


def test_two_keys_are_a_bad_request() -> None:
    """Different keys in header and body are 400, whatever else is wrong."""
    refusal = _refusal(valid(idempotency_key="a", priority=11), header_key="b")
    assert (refusal.code, refusal.status) == ("IDEMPOTENCY_KEY_MISMATCH", 400)
    assert {problem.code for problem in refusal.problems} == {"IDEMPOTENCY_KEY_MISMATCH", "INVALID_PRIORITY"}


@pytest.mark.parametrize("key", ["", "k" * 201, "k\n", "é"])
def test_header_keys_have_the_same_grammar(key: str) -> None:
    """A key is no freer for having come in a header."""
    assert _refusal(valid(), header_key=key).code == "INVALID_IDEMPOTENCY_KEY"


def test_an_unknown_version_is_told_first() -> None:
    """Under an unknown version the other rules may not hold, so its code names the refusal."""
    refusal = _refusal(valid(schema_version="2", new_field=1))
    assert refusal.code == "UNSUPPORTED_SCHEMA_VERSION"
    assert len(refusal.problems) == 2


def test_refusals_stay_small() -> None:
    """A body full of unknown fields gets a short answer."""
    refusal = _refusal({f"{number}{'k' * 600}": 1 for number in range(500)})
    assert len(refusal.problems) == 32
    assert len(msgspec.json.encode([problem.pointer for problem in refusal.problems])) < 20_000


def test_an_envelope_cannot_be_changed() -> None:
    """What was read stays as it was read."""
    envelope = read_envelope(valid())
    with pytest.raises(AttributeError):
        envelope.tenant_id = "other"  # type: ignore[misc]
