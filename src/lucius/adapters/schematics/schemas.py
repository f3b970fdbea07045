"""Judging the JSON Schema of a step before any payload meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from lucius.adapters.schematics.scalars import shown
from lucius.adapters.schematics.section import Section
from lucius.core.pointer import child

MAX_SCHEMA_BYTES = 32 * 1024
MAX_MESSAGE = 200
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DATA = frozenset({"const", "enum", "default", "examples"})


def payload_schema(step: Section, name: str) -> dict[str, Any]:
    """The schema under `name`, compiled once to prove that it can be; {} when there is none."""
    held = step.values.get(name, {})
    if not isinstance(held, dict):
        step.wrong(name, f"is {shown(held)}", "write a JSON Schema as a mapping")
        return {}
    # The schema is copied into each job's snapshot, so its size is paid for with every job.
    size = len(json.dumps(held, ensure_ascii=False).encode("utf-8", "replace"))
    if size > MAX_SCHEMA_BYTES:
        step.wrong(name, f"the schema has {size} bytes", f"keep it within {MAX_SCHEMA_BYTES} bytes")
        return {}
    base = child(step.pointer, name)
    remote = list(_remote_references(held, base))
    for pointer, target in remote:
        message = f"{shown(target)} points outside this schema"
        step.problems.append(
            step.document.problem(pointer, message, 'use a local reference such as "#/$defs/name"')
        )
    if not remote:
        _compile(step, base, held)
    return held


def _compile(step: Section, base: str, schema: dict[str, Any]) -> None:
    try:
        jsonschema_rs.validator_for(schema, offline=True, pattern_options=jsonschema_rs.RegexOptions())
    except jsonschema_rs.ValidationError as error:
        pointer = base
        for part in error.instance_path:
            pointer = child(pointer, part)
        remedy = "write a valid JSON Schema (draft 2020-12)"
        if pointer.endswith(("/pattern", "/propertyNames")):
            remedy = "write a regular expression without lookaround or backreferences"
        step.problems.append(step.document.problem(pointer, error.message[:MAX_MESSAGE], remedy))
    except ValueError as error:
        step.problems.append(
            step.document.problem(
                base, f"the schema cannot be used: {str(error)[:MAX_MESSAGE]}", "correct it"
            )
        )


def _remote_references(schema: Any, base: str) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any]] = [(base, schema)]
    while waiting:
        pointer, value = waiting.pop()
        pairs = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in pairs:
            if key in _REFERENCES and isinstance(inner, str) and not inner.startswith("#"):
                yield child(pointer, key), inner
            elif key not in _DATA or not isinstance(value, dict):
                waiting.append((child(pointer, key), inner))
