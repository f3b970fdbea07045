"""When two commands are one."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lucius.core.idempotency import FIELDS, canonical, claim_of, differing_pointers, fields_of, fingerprint
from lucius.errors import Invalid

SAFE = 2**53 - 1
NUMBERS = (
    st.integers(-SAFE, SAFE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(1e-5, 1e-3)
    | st.floats(1e14, 1e17)
    | st.integers(-1000, 1000).map(float)
    | st.decimals(-1000, 1000, places=3).map(float)
)
KEYS = st.text("aB_1é\uffff\U00010000😀~/", max_size=3) | st.text(max_size=5)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.text(max_size=8)
    | st.text('\x00\x1f\x7f\u2028"\\/é😀', max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
COMMANDS = st.fixed_dictionaries(
    {
        "tenant_id": st.sampled_from(["acme", "globex"]),
        "request_type": st.sampled_from(["OCR", "SIS"]),
        "input_ref": OBJECTS,
        "output_ref": OBJECTS,
        "payload": OBJECTS,
        "schema_version": st.just("1"),
    }
)


def _command(**changes: Any) -> dict[str, Any]:
    return {
        "tenant_id": "acme",
        "request_type": "OCR",
        "input_ref": {"uri": "s3://scans/a.pdf"},
        "output_ref": {"uri": "s3://results/a/"},
        "payload": {"ocr": {"dpi": 300, "scale": 0.5}},
        "schema_version": "1",
    } | changes


def test_golden_fingerprint() -> None:
    """The fingerprint is the SHA-256 of bytes anybody can write down; it never changes."""
    text = (
        '{"input_ref":{"uri":"s3://scans/a.pdf"},"output_ref":{"uri":"s3://results/a/"},'
        '"payload":{"ocr":{"dpi":300,"scale":0.5}},"request_type":"OCR","schema_version":"1","tenant_id":"acme"}'
    )
    assert fingerprint(_command()) == hashlib.sha256(text.encode()).hexdigest()


@given(VALUES)
@settings(max_examples=500)
@example({"\uffff": 1, "\U00010000": 2})
@example([1e-7, 1e21, 1e-4, 1e15, 1e16, 123456789012345.6, -0.0, 5e-324, 1.7976931348623157e308])
def test_the_quick_encoder_is_rfc_8785(value: Any) -> None:
    """Whichever encoder is taken, the bytes are those of RFC 8785."""
    assert canonical(value) == rfc8785.dumps(value)


@given(st.floats(1e-4, 1e15, exclude_max=True), st.booleans())
@settings(max_examples=500)
def test_fractions_of_the_quick_encoder_are_rfc_8785(number: float, negative: bool) -> None:
    """In the whole range left to the quick encoder fractions are spelled as RFC 8785 spells them."""
    value = -number if negative else number
    assert canonical({"n": [value]}) == rfc8785.dumps({"n": [value]})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1", "1.0"),
        ("1", "1e0"),
        ("0", "-0"),
        ("0", "-0.0"),
        ("100", "1E2"),
        ("0.1", "1e-1"),
        ('"é"', '"\\u00e9"'),
    ],
)
def test_spellings_of_a_value_are_one_command(one: str, two: str) -> None:
    """How a number or a string is spelled does not make another command."""
    first, second = (_command(payload=json.loads(f'{{"n": {text}}}')) for text in (one, two))
    assert fingerprint(first) == fingerprint(second)
    assert differing_pointers(first, second) == []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1", '"1"'),
        ("1", "true"),
        ("0", "false"),
        ("null", "false"),
        ("[]", "{}"),
        ('"e\\u0301"', '"\\u00e9"'),
    ],
)
def test_different_values_are_different_commands(one: str, two: str) -> None:
    """Values of different types, and strings of different characters, never fall together."""
    first, second = (_command(payload=json.loads(f'{{"n": {text}}}')) for text in (one, two))
    assert fingerprint(first) != fingerprint(second)
    assert differing_pointers(first, second) == ["/payload/n"]


@given(COMMANDS, COMMANDS)
def test_equal_fingerprints_mean_nothing_differs(one: dict[str, Any], two: dict[str, Any]) -> None:
    """Two commands have one fingerprint exactly when no pointer differs."""
    for other in (two, copy.deepcopy(one), one | {"payload": two["payload"]}):
        assert (fingerprint(one) == fingerprint(other)) is (differing_pointers(one, other) == [])


@given(COMMANDS, st.data())
def test_the_differing_place_is_found(command: dict[str, Any], data: st.DataObject) -> None:
    """One changed place is told as that place, and nothing else is."""
    name = data.draw(KEYS)
    changed = copy.deepcopy(command)
    changed["payload"][name] = {"was": command["payload"].get(name)}
    pointer = "/payload/" + name.replace("~", "~0").replace("/", "~1")
    assume(not isinstance(command["payload"].get(name), dict))
    assert differing_pointers(command, changed) == [pointer]


@pytest.mark.parametrize("name", FIELDS)
def test_each_of_the_six_fields_counts(name: str) -> None:
    """Changing or leaving out any of the six fields makes another command."""
    other = _command(**{name: "globex" if isinstance(_command()[name], str) else {"other": 1}})
    missing = {key: value for key, value in _command().items() if key != name}
    assert len({fingerprint(command) for command in (_command(), other, missing)}) == 3
    assert fingerprint(missing) == fingerprint(_command(**{name: None}))


def test_nothing_else_counts() -> None:
    """Delivery wishes do not make another command, nor does the spelling of the tenant."""
    other = _command(mode="BURST", doc_id="d", priority=9, idempotency_key="k", tenant_id=" ACME\n")
    assert fingerprint(other) == fingerprint(_command())
    assert set(fields_of(other)) == set(FIELDS)


def test_inner_nulls_count() -> None:
    """Only nulls at the top are left out: inside a payload a null is a value."""
    assert fingerprint(_command(payload={"a": None})) != fingerprint(_command(payload={}))


@given(COMMANDS)
def test_key_spaces_never_meet(command: dict[str, Any]) -> None:
    """A client that sends a derived key, or what it was made of, as its own key meets no derived claim."""
    derived = claim_of(command, None)
    assert (derived.key, derived.explicit) == (f"d:{derived.fingerprint}", False)
    for key in (derived.key, derived.fingerprint, canonical(fields_of(command)).decode()):
        explicit = claim_of(command, key)
        assert explicit.key.startswith("k:")
        assert explicit.key != derived.key
        assert explicit.explicit
        assert explicit.fingerprint == derived.fingerprint


def test_keys_are_stored_hashed() -> None:
    """One key is one claim whatever the body, two keys are two, and a stored key has one length."""
    one, again = claim_of(_command(), "a"), claim_of(_command(payload={}), "a")
    assert one.key == again.key == "k:" + hashlib.sha256(b"a").hexdigest()
    assert one.fingerprint != again.fingerprint
    assert claim_of(_command(), "a" * 200).key != one.key
    assert len(claim_of(_command(), "a" * 200).key) == len(one.key)


@pytest.mark.parametrize("number", [2**53, -(2**53), float("nan"), float("inf")])
def test_numbers_without_canonical_form_are_refused(number: float) -> None:
    """What RFC 8785 cannot spell is the sender's fault, not a crash."""
    with pytest.raises(Invalid) as refusal:
        fingerprint(_command(payload={"n": number}))
    assert refusal.value.code == "NUMBER_OUT_OF_RANGE"


def test_differences_are_bounded() -> None:
    """However much differs, the answer stays small."""
    pointers = differing_pointers({}, {"k" * 5000: 1} | {str(number): 1 for number in range(1000)})
    assert len(pointers) == 32
    assert all(len(pointer) <= 512 for pointer in pointers)


def test_differences_in_lists() -> None:
    """Elements are compared place by place; the longer list's rest differs."""
    assert differing_pointers({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}, 4]}) == ["/a/1/b", "/a/2"]
