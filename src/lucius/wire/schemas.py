"""JSON Schemas of protocol steps, compiled once.

State: a bounded cache from a schema object to its compiled form, by identity; the schema is held, so
its identity cannot pass to another object. A schema that does not compile, names a remote `$ref` or
needs a backtracking pattern is an operator's mistake: `SchemaFault`, best found when protocols load
(`check`). Messages never repeat the value they are about: payloads may hold secrets.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import reduce
from typing import Any

import jsonschema_rs

from lucius.core.pointer import MAX_PROBLEMS, child, shortened
from lucius.errors import Invalid, Problem

MAX_MESSAGE = 300
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class SchemaFault(Invalid):
    """A protocol's payload schema cannot be used."""

    code = "INVALID_SCHEMA"


class SchemaValidator:
    """Checks sections against schemas; keeps the `capacity` last used compiled."""

    def __init__(self, capacity: int = 256) -> None:
        self._capacity = capacity
        self._compiled: OrderedDict[int, tuple[dict[str, Any], Any]] = OrderedDict()

    def check(self, schema: dict[str, Any]) -> None:
        """Raise `SchemaFault` if the schema cannot be used."""
        self._validator(schema)

    def problems(self, schema: dict[str, Any], section: dict[str, Any]) -> list[Problem]:
        """What is wrong with the section, with pointers that start at it."""
        validator = self._validator(schema)
        if validator.is_valid(section):
            return []
        found = []
        for error in validator.iter_errors(section):
            found.append(_problem(error))
            if len(found) == MAX_PROBLEMS:
                break
        return found

    def _validator(self, schema: dict[str, Any]) -> Any:
        key = id(schema)
        held = self._compiled.get(key)
        if held is not None:
            self._compiled.move_to_end(key)
            return held[1]
        validator = _compile(schema)
        self._compiled[key] = (schema, validator)
        if len(self._compiled) > self._capacity:
            self._compiled.popitem(last=False)
        return validator


def _compile(schema: dict[str, Any]) -> Any:
    try:
        # RegexOptions: the linear engine. offline: nothing is fetched, neither over http nor from files.
        return jsonschema_rs.validator_for(
            schema, mask="the value", offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        message = f"The payload schema cannot be used: {reason}"
        raise SchemaFault(message) from error


def _problem(error: Any) -> Problem:
    pointer = reduce(child, error.instance_path, "")
    keyword = _WORD_START.sub("_", error.kind.name).upper()
    return Problem(pointer=shortened(pointer), code=f"SCHEMA_{keyword}", message=error.message[:MAX_MESSAGE])
