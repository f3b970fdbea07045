"""JSON Schemas of steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lucius.core.payloads import read_sections
from lucius.core.protocol import Protocol, StepRecipe
from lucius.errors import Invalid
from lucius.wire.schemas import SchemaFault, SchemaValidator

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"dpi": {"type": "integer", "maximum": 600}, "lang": {"$ref": "#/$defs/lang"}},
    "required": ["dpi"],
    "additionalProperties": False,
    "$defs": {"lang": {"type": "string", "pattern": "^[a-z]{2}$"}},
}


def test_problems_have_pointers_and_codes() -> None:
    """Each thing the schema refuses is told at its place, with the keyword as its code."""
    found = SchemaValidator().problems(SCHEMA, {"dpi": 900, "lang": "german", "x": 1})
    assert sorted((problem.pointer, problem.code) for problem in found) == [
        ("", "SCHEMA_ADDITIONAL_PROPERTIES"),
        ("/dpi", "SCHEMA_MAXIMUM"),
        ("/lang", "SCHEMA_PATTERN"),
    ]
    assert SchemaValidator().problems(SCHEMA, {"dpi": 300, "lang": "de"}) == []


def test_values_are_not_repeated() -> None:
    """A refused value may be a secret: no message holds it."""
    found = SchemaValidator().problems({"properties": {"a": {"const": 1}}}, {"a": "hunter2"})
    assert found
    assert all("hunter2" not in problem.message for problem in found)


def test_a_flood_of_problems_is_bounded() -> None:
    """However much is wrong, the answer stays small."""
    schema = {"additionalProperties": {"type": "string"}}
    found = SchemaValidator().problems(schema, {str(number): number for number in range(1000)})
    assert len(found) == 32


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://schemas.example.com/a"},
        {"$ref": "file:///etc/passwd"},
        {"properties": {"a": {"$ref": "other.json#/a"}}},
        {"type": "nonsense"},
        {"pattern": "(?=a)b"},
        {"pattern": "(a)\\1"},
    ],
)
def test_schemas_that_reach_out_or_backtrack_are_refused(schema: dict[str, Any]) -> None:
    """A schema is refused before use if it would fetch something, is no schema, or needs backtracking."""
    with pytest.raises(SchemaFault) as refusal:
        SchemaValidator().check(schema)
    assert refusal.value.code == "INVALID_SCHEMA"


def test_files_are_not_read(tmp_path: Path) -> None:
    """A reference to a file that is there, and is a schema, is refused all the same."""
    (tmp_path / "schema.json").write_text('{"type": "object"}', encoding="utf-8")
    with pytest.raises(SchemaFault):
        SchemaValidator().check({"$ref": (tmp_path / "schema.json").as_uri()})


def test_a_new_schema_is_never_taken_for_an_old_one() -> None:
    """Though schemas are known by identity, one that is gone cannot lend its own to another."""
    validator = SchemaValidator(capacity=4)
    for number in range(100):
        assert validator.problems({"properties": {"a": {"const": number}}}, {"a": number}) == []


def test_the_cache_is_bounded() -> None:
    """Only so many compiled schemas are kept, the last used ones, each beside the very object it is of."""
    validator = SchemaValidator(capacity=2)
    schemas: list[dict[str, Any]] = [{"minProperties": number} for number in range(1, 4)]
    for schema in (schemas[0], schemas[1], schemas[0], schemas[2]):
        validator.check(schema)
    held = [id(schema) for schema, _ in validator._compiled.values()]
    assert held == list(validator._compiled) == [id(schemas[0]), id(schemas[2])]


def test_sections_are_checked_with_it() -> None:
    """Bound to the payload rules, its problems lie below /payload and the step."""
    steps = (
        StepRecipe(step_id="ocr", step_type="OCR", service="ocr", payload_schema=SCHEMA),
        StepRecipe(step_id="sis", step_type="SIS", service="sis"),
    )
    recipe = Protocol(protocol_id="p", version="1", request_type="P", steps=steps)
    with pytest.raises(Invalid) as refusal:
        read_sections({"common": {"lang": "german"}, "ocr": {"dpi": "x"}}, recipe, SchemaValidator())
    assert sorted((problem.pointer, problem.code) for problem in refusal.value.problems) == [
        ("/payload/common/lang", "SCHEMA_PATTERN"),
        ("/payload/ocr/dpi", "SCHEMA_TYPE"),
    ]
