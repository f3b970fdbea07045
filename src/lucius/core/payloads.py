"""One payload section per step, cut from what the client sent.

    payload = {"common": {...}, "<step_id>": {...}, ...}     section = {**common, **payload[step_id]}

No state. A step without a section of its own gets `common` alone, or nothing. A protocol of one step
also takes the flat form: a payload that holds neither the step's id nor `common` is the section
itself. Names that are no step are refused, so are sections over 30 KiB, so is whatever the step's
schema refuses; all of it in one `Invalid` with pointers into the payload as it was sent.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from lucius.core.pointer import Findings, child
from lucius.core.protocol import Protocol as Recipe
from lucius.errors import Invalid, Problem

MAX_SECTION = 30 * 1024
COMMON = "common"


class Validator(Protocol):
    """Checks a section against a step's JSON Schema."""

    def problems(self, schema: dict[str, Any], section: dict[str, Any]) -> list[Problem]:
        """What is wrong, with pointers that start at the section."""


def read_sections(payload: dict[str, Any], recipe: Recipe, validator: Validator) -> dict[str, dict[str, Any]]:
    """The section of each step, by step id; raises `Invalid` if any is not acceptable."""
    findings = Findings()
    flat = _is_flat(payload, recipe)
    sections = {recipe.steps[0].step_id: payload} if flat else _split(payload, recipe, findings)
    for step in recipe.steps:
        if not flat and type(payload.get(step.step_id, {})) is not dict:
            continue  # told already; its schema would only add noise
        section = sections[step.step_id]
        base = "/payload" if flat else child("/payload", step.step_id)
        if len(msgspec.json.encode(section)) > MAX_SECTION:
            message = f"The section of step {step.step_id} takes more than {MAX_SECTION} bytes of JSON."
            findings.note(base, "SECTION_TOO_LARGE", message)
        elif step.payload_schema:
            for problem in validator.problems(step.payload_schema, section):
                pointer = problem.pointer if flat else _as_sent(problem.pointer, payload, step.step_id)
                findings.note(f"/payload{pointer}", problem.code, problem.message)
    if findings:
        code = findings.problems[0].code if len(findings.codes) == 1 else "INVALID_PAYLOAD"
        message = f"The payload does not fit protocol {recipe.protocol_id} {recipe.version}."
        raise Invalid(message, code=code, problems=findings.problems)
    return sections


def section_of(payload: dict[str, Any], recipe: Recipe, step_id: str) -> dict[str, Any]:
    """The section of one step, of a payload that was accepted."""
    if _is_flat(payload, recipe):
        return payload
    own, common = payload.get(step_id, {}), payload.get(COMMON)
    return {**common, **own} if common else own


def _is_flat(payload: dict[str, Any], recipe: Recipe) -> bool:
    return len(recipe.steps) == 1 and recipe.steps[0].step_id not in payload and COMMON not in payload


def _split(payload: dict[str, Any], recipe: Recipe, findings: Findings) -> dict[str, dict[str, Any]]:
    names = {step.step_id for step in recipe.steps}
    for name, value in payload.items():
        if name not in names and name != COMMON:
            message = (
                f"Protocol {recipe.protocol_id} has no such step; its steps are {', '.join(sorted(names))}."
            )
            findings.note(child("/payload", name), "UNKNOWN_SECTION", message)
        elif type(value) is not dict:
            findings.note(child("/payload", name), "WRONG_TYPE", "A section must be an object.")
    common = _object(payload.get(COMMON))
    return {step.step_id: common | _object(payload.get(step.step_id)) for step in recipe.steps}


def _object(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}


def _as_sent(pointer: str, payload: dict[str, Any], step_id: str) -> str:
    """Below the payload, where the value came from: the step's own section, or `common`."""
    first = pointer.split("/", 2)[1].replace("~1", "/").replace("~0", "~") if pointer else ""
    own, common = _object(payload.get(step_id)), _object(payload.get(COMMON))
    section = COMMON if first in common and first not in own else step_id
    return child("", section) + pointer
