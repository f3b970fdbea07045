"""Bytes to document: the quick reader against a slow one that cannot be fooled."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lucius.errors import Invalid
from lucius.wire.exact_json import read_exactly
from lucius.wire.strict_json import check_content_type, parse

SAFE = 2**53 - 1


class RefusedError(Exception):
    """The reference reader says no."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise RefusedError
    return dict(pairs)


def _whole(literal: str) -> int:
    if len(literal) > 4000 or abs(int(literal)) > SAFE:
        raise RefusedError
    return int(literal)


def _fraction(literal: str) -> float:
    if abs(float(literal)) == float("inf"):
        raise RefusedError
    return float(literal)


def _constant(_: str) -> float:
    raise RefusedError


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def reference(raw: bytes, max_depth: int) -> dict[str, Any]:
    """What strict reading means, in the standard library's words."""
    try:
        document = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_int=_whole,
            parse_float=_fraction,
            parse_constant=_constant,
        )
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise RefusedError from error
    if not isinstance(document, dict) or _depth(document) > max_depth:
        raise RefusedError
    return document


def same(one: Any, two: Any) -> bool:
    """Equal with types: 1, 1.0 and true are three things, and so are 0.0 and -0.0."""
    return repr(one) == repr(two)


def agrees(raw: bytes, max_depth: int = 32) -> bool:
    """Both readers take the body and find the same in it, or both refuse it. True: taken."""
    try:
        expected = reference(raw, max_depth)
    except RefusedError:
        with pytest.raises(Invalid):
            parse(raw, max_depth=max_depth)
        with pytest.raises(Invalid):
            read_exactly(raw, max_depth=max_depth)
        return False
    assert same(parse(raw, max_depth=max_depth), expected)
    assert same(read_exactly(raw, max_depth=max_depth), expected)
    return True


# Few letters, many colons and digits: the characters the shortcuts count.
TEXT = st.text('ab:"\\{}[]019 é\u20ac😀\x00\n', max_size=6) | st.text(max_size=8)
NUMBERS = (
    st.integers(-(2**70), 2**70)
    | st.integers(2**63 - 2, 2**64 + 2)
    | st.integers(-(2**64), -(2**63) + 2)
    | st.integers(SAFE - 2, SAFE + 2)
    | st.integers(-SAFE - 2, -SAFE + 2)
    | st.floats(allow_nan=False, allow_infinity=False)
)


def _spell(value: Any, draw: st.DrawFn) -> str:
    """JSON text of nested pairs, with blanks, escapes and repeated keys as drawn."""
    gap = draw(st.sampled_from(["", " ", "\n\t"]))
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
        if draw(st.booleans()):
            text = text.replace(":", draw(st.sampled_from([r"\u003a", r"\u003A"])))
        return text
    if isinstance(value, tuple):
        members = (_spell(name, draw) + gap + ":" + _spell(inner, draw) for name, inner in value)
        return "{" + ",".join(members) + gap + "}"
    if isinstance(value, list):
        return "[" + gap + ",".join(_spell(inner, draw) for inner in value) + "]"
    return json.dumps(value)


PAIRS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(TEXT, inner), max_size=4).map(tuple),
    max_leaves=12,
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """JSON objects, honest or with a key twice, in any spelling."""
    members: list[tuple[str, Any]] = draw(st.lists(st.tuples(TEXT, PAIRS), max_size=5))
    repeat: bool = draw(st.booleans())
    if members and repeat:
        name: str = draw(st.sampled_from([name for name, _ in members]))
        members = [*members, (name, draw(PAIRS))]
    return _spell(tuple(members), draw).encode()


@given(texts())
@settings(max_examples=400)
@example(rb'{"a":1,"a":"\u003a"}')
@example(rb'{"a":"::","b":{"c":1,"c":2}}')
@example(b'{"a":1,"a":{}}')
@example(b'{"a":[18446744073709551616]}')
@example(b'{"a":{"b":-9223372036854775809}}')
def test_the_quick_reader_agrees_with_the_reference(raw: bytes) -> None:
    """Repeated keys, numbers out of range and escapes in any mixture are judged exactly."""
    agrees(raw)


@given(texts(), st.data())
@settings(max_examples=300)
def test_damaged_bodies_are_judged_alike(raw: bytes, data: st.DataObject) -> None:
    """A byte changed, lost or added anywhere never gets a body past the quick reader alone."""
    place = data.draw(st.integers(0, len(raw)))
    cut = data.draw(st.integers(0, 2))
    added = data.draw(
        st.binary(max_size=2) | st.sampled_from([b'"', b":", b"{", b"]", b"\\", b"9" * 17, b"NaN"])
    )
    agrees(raw[:place] + added + raw[place + cut :])


@given(st.binary(max_size=40))
def test_any_bytes_are_judged_alike(raw: bytes) -> None:
    """No bytes make the reader fail in another way than by refusing."""
    agrees(raw)


@given(
    st.recursive(
        st.just(0), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    )
)
@settings(max_examples=200)
def test_depth_is_counted_exactly(value: Any) -> None:
    """A limit of its own depth takes a document, one less refuses it."""
    document = {"a": value, '[[[{{{"': "[[["}
    raw = orjson.dumps(document)
    deep = _depth(document)
    assert agrees(raw, deep)
    assert not agrees(raw, deep - 1)


def _refusal(raw: bytes) -> Invalid:
    with pytest.raises(Invalid) as refusal:
        parse(raw)
    return refusal.value


@pytest.mark.parametrize(
    ("raw", "status", "places"),
    [
        (rb'{"a":{"b/c":[0,{"~":1,"~":2}]}}', 422, [("/a/b~1c/1/~0", "DUPLICATE_KEY")]),
        (b'{"a":[1,9007199254740992]}', 422, [("/a/1", "NUMBER_OUT_OF_RANGE")]),
        (rb'{"a":["\ud800"],"b":{"\udc00":1}}', 422, [("/a/0", "LONE_SURROGATE"), ("/b", "LONE_SURROGATE")]),
        (b'{"a":1,"a":NaN}', 400, [("/a", "DUPLICATE_KEY"), ("/a", "NON_FINITE_NUMBER")]),
        (b'{"":1e999}', 422, [("/", "NUMBER_OUT_OF_RANGE")]),
    ],
)
def test_refusals_point_at_every_fault(raw: bytes, status: int, places: list[tuple[str, str]]) -> None:
    """All faults of a body are listed with their pointers; what is not JSON decides the status."""
    refusal = _refusal(raw)
    assert refusal.status == status
    assert [(problem.pointer, problem.code) for problem in refusal.problems] == places


def test_refusals_do_not_repeat_the_body() -> None:
    """Neither the message nor a pointer grows with what was sent."""
    key = "k" * 5000
    refusal = _refusal(
        ("{" + f'"{key}": {{"x": 1, "x": 2}}, ' + '"n": [' + "1e999," * 500 + "1e999]}").encode()
    )
    assert len(refusal.problems) == 32
    assert refusal.problems[0].pointer == ""
    assert all(len(problem.pointer) < 20 for problem in refusal.problems)


def test_size_is_checked_before_anything_else() -> None:
    """A body over the limit is 413 even if it is no JSON; at the limit it is read."""
    with pytest.raises(Invalid) as refusal:
        parse(b"x" * 11, max_bytes=10)
    assert (refusal.value.code, refusal.value.status) == ("BODY_TOO_LARGE", 413)
    assert parse(b'{"a": 123}', max_bytes=10) == {"a": 123}


@pytest.mark.parametrize(
    "value", [None, "", "json", "application/json; charset=latin-1", "application/json; x=y"]
)
def test_only_json_is_taken(value: str | None) -> None:
    """Another content type is 415, whatever the body."""
    with pytest.raises(Invalid) as refusal:
        check_content_type(value)
    assert refusal.value.status == 415
