"""Payload sections."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.core.payloads import MAX_SECTION, read_sections
from lucius.core.protocol import Protocol, StepRecipe
from lucius.errors import Invalid, Problem


class Recorder:
    """A validator that remembers what it was asked and finds what it is told to."""

    def __init__(self, *pointers: str) -> None:
        self.asked: list[dict[str, Any]] = []
        self._pointers = pointers

    def problems(self, schema: dict[str, Any], section: dict[str, Any]) -> list[Problem]:
        """Remember the section; find the same in each."""
        assert schema
        self.asked.append(section)
        return [Problem(pointer=pointer, code="SCHEMA_TYPE", message="No.") for pointer in self._pointers]


def _recipe(*names: str) -> Protocol:
    steps = (
        StepRecipe(step_id=name, step_type=name.upper(), service=name, payload_schema={"type": "object"})
        for name in names
    )
    return Protocol(protocol_id="p", version="1", request_type="P", steps=tuple(steps))


ONE, TWO = _recipe("ocr"), _recipe("ocr", "sis")
OBJECTS = st.dictionaries(st.sampled_from("abcd"), st.integers(), max_size=4)


def _places(payload: dict[str, Any], recipe: Protocol, *pointers: str) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refusal:
        read_sections(payload, recipe, Recorder(*pointers))
    return [(problem.pointer, problem.code) for problem in refusal.value.problems]


@given(st.none() | OBJECTS, st.none() | OBJECTS, st.none() | OBJECTS)
def test_a_section_is_common_and_its_own(common: Any, ocr: Any, sis: Any) -> None:
    """Each step gets the common values, its own winning; that merged section is what is checked."""
    sent = {"common": common, "ocr": ocr, "sis": sis}
    payload = {name: value for name, value in sent.items() if value is not None}
    validator = Recorder()
    sections = read_sections(payload, TWO, validator)
    assert sections == {"ocr": {**(common or {}), **(ocr or {})}, "sis": {**(common or {}), **(sis or {})}}
    assert validator.asked == list(sections.values())


@given(OBJECTS)
def test_one_step_takes_the_flat_form(values: dict[str, Any]) -> None:
    """For one step the flat form and the section form are the same."""
    expected = {"ocr": values}
    assert read_sections(values, ONE, Recorder()) == expected
    assert read_sections({"ocr": values}, ONE, Recorder()) == expected
    assert read_sections({"common": values}, ONE, Recorder()) == expected


def test_the_two_forms_do_not_mix() -> None:
    """Beside a section, another name is a section of no step, never a flat value."""
    assert _places({"ocr": {}, "dpi": 300}, ONE) == [("/payload/dpi", "UNKNOWN_SECTION")]
    assert _places({"common": {}, "dpi": 300}, ONE) == [("/payload/dpi", "UNKNOWN_SECTION")]


def test_more_steps_take_no_flat_form() -> None:
    """With two steps a flat value belongs to nobody."""
    assert _places({"d/pi": 300}, TWO) == [("/payload/d~1pi", "UNKNOWN_SECTION")]


@pytest.mark.parametrize("value", [None, 1, "x", [], True])
def test_sections_are_objects(value: Any) -> None:
    """A section that is no object is refused at its own place, without noise from its schema."""
    assert _places({"ocr": value, "common": value}, TWO, "/a") == [
        ("/payload/ocr", "WRONG_TYPE"),
        ("/payload/common", "WRONG_TYPE"),
        ("/payload/sis/a", "SCHEMA_TYPE"),
    ]


def test_problems_point_at_the_payload_as_sent() -> None:
    """What the schema refuses is told where the sender wrote it: in the section, in common, or flat."""
    payload = {"common": {"a": 1, "b/c": 2}, "ocr": {"a": 3}}
    assert _places(payload, ONE, "/a", "/b~1c", "/new", "") == [
        ("/payload/ocr/a", "SCHEMA_TYPE"),
        ("/payload/common/b~1c", "SCHEMA_TYPE"),
        ("/payload/ocr/new", "SCHEMA_TYPE"),
        ("/payload/ocr", "SCHEMA_TYPE"),
    ]
    assert _places({"a": 1}, ONE, "/a", "") == [("/payload/a", "SCHEMA_TYPE"), ("/payload", "SCHEMA_TYPE")]


def test_sections_have_a_size() -> None:
    """A section is measured as it will be sent: merged, as JSON, at most 30 KiB."""
    room = MAX_SECTION - len(b'{"t":""}')
    assert read_sections({"t": "x" * room}, ONE, Recorder())
    assert _places({"t": "x" * (room + 1)}, ONE) == [("/payload", "SECTION_TOO_LARGE")]
    half = "x" * (MAX_SECTION // 2)
    assert _places({"common": {"a": half}, "ocr": {"b": half}}, TWO) == [
        ("/payload/ocr", "SECTION_TOO_LARGE")
    ]


def test_the_payload_is_left_alone() -> None:
    """Merging makes new sections; what was sent is stored as it was sent."""
    payload: dict[str, Any] = {"common": {"a": 1}, "ocr": {"b": 2}}
    read_sections(payload, TWO, Recorder())
    assert payload == {"common": {"a": 1}, "ocr": {"b": 2}}
