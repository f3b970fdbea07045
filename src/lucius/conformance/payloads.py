"""Examples of payloads from a JSON Schema: one that fits, and one that does not.

Only for services that are Python objects: they are asked what they think of a payload before it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]
Accepts = Callable[[dict[str, Any]], bool]
_STRANGE: tuple[Any, ...] = ({"strange": [None]}, [[]], "\u2603 strange", -1, None)
_PLAIN: dict[str, Any] = {
    "string": "text", "integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}, "null": None,
}  # fmt: skip


def good(schema: Schema, accepts: Accepts) -> dict[str, Any] | None:
    """A payload that the service takes, if one is found."""
    tried = [one for one in schema.get("examples", []) if isinstance(one, dict)]
    tried += [{}, _object(schema, schema)]
    return next((one for one in tried if accepts(one)), None)


def bad(schema: Schema, accepts: Accepts) -> dict[str, Any] | None:
    """A payload that the service refuses, if one is found."""
    return next((one for one in _wrong(schema) if not accepts(one)), None)


def _wrong(schema: Schema) -> Iterator[dict[str, Any]]:
    base = _object(schema, schema)
    for name in schema.get("properties", {}):
        for value in _STRANGE:
            yield base | {name: value}
    if schema.get("required"):
        yield {}
    yield base | {"no_such_field_in_the_model": 1}


def _object(schema: Schema, whole: Schema) -> dict[str, Any]:
    found = schema.get("properties", {})
    return {name: _value(found.get(name, {}), whole) for name in schema.get("required", ())}


def _value(schema: Schema, whole: Schema) -> Any:
    """The plainest value that a schema names."""
    if "$ref" in schema:
        return _value(whole.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {}), whole)
    for name in ("examples", "enum"):
        if schema.get(name):
            return schema[name][0]
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return _value(schema[name][0], whole)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, whole)
    if kind in {"integer", "number"}:
        return max(schema.get("minimum", 1), schema.get("exclusiveMinimum", 0) + 1)
    if kind == "string":
        return "x" * max(1, int(schema.get("minLength", 1)))
    return _PLAIN.get(str(kind))
