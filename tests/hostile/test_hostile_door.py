"""The hostile corpus, driven through the functions a command passes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lucius.core.payloads import read_sections
from lucius.core.pointer import MAX_POINTER, MAX_PROBLEMS
from lucius.core.protocol import Protocol, StepRecipe
from lucius.core.refs import RefPolicy, check_ref
from lucius.errors import Invalid
from lucius.testing.hostile import HOSTILE, JSON, TENANT, Hostile, valid
from lucius.wire.envelope import Envelope, read_envelope
from lucius.wire.schemas import SchemaValidator
from lucius.wire.strict_json import check_content_type, parse

POLICY = RefPolicy()
RECIPE = Protocol(
    protocol_id="ocr",
    version="1",
    request_type="OCR",
    steps=(StepRecipe(step_id="ocr", step_type="OCR", service="ocr", payload_schema={"type": "object"}),),
)
VALIDATOR = SchemaValidator()


def pass_the_door(content_type: str, raw: bytes) -> Envelope:
    """Everything that is asked of a body, in order."""
    check_content_type(content_type)
    envelope = read_envelope(parse(raw))
    problems = [
        *check_ref(envelope.input_ref, POLICY, envelope.tenant_id, "/input_ref"),
        *check_ref(envelope.output_ref, POLICY, envelope.tenant_id, "/output_ref"),
    ]
    if problems:
        raise Invalid("The references are refused.", code=problems[0].code, problems=tuple(problems))
    read_sections(envelope.payload, RECIPE, VALIDATOR)
    return envelope


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.name)
def test_hostile_bodies_are_refused_for_their_reason(case: Hostile) -> None:
    """A hostile body is refused with its own code, and the refusal is small."""
    with pytest.raises(Invalid) as refusal:
        pass_the_door(case.content_type, case.raw)
    assert refusal.value.code == case.code
    assert refusal.value.status in {400, 413, 415, 422}
    assert {problem.code for problem in refusal.value.problems} <= {case.code}
    assert len(refusal.value.problems) <= MAX_PROBLEMS
    assert all(len(problem.pointer) <= MAX_POINTER for problem in refusal.value.problems)


def test_names_are_unique() -> None:
    """Each case of the corpus can be named."""
    names = [case.name for case in HOSTILE]
    assert len(names) == len(set(names)) > 250


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tenant_id": " ACME\n"},
        {"mode": "BURST", "doc_id": "a/b.c:d@e-f"},
        {"x-note": {"any": ["thing"]}, "doc_id": None},
        {
            "payload": {
                "text": "München \u003a 😀 \x00",
                "n": [2**53 - 1, -(2**53 - 1), 0.1234567890123456789, 1e300],
            }
        },
        {"payload": {"deep": json.loads("[" * 30 + "]" * 30)}},
        {"payload": {"k" * 1000: "v" * 20_000}},
        {"input_ref": {"uri": "https://8.8.8.8:8443/a%20b;v=1?version=3", "pages": 7}},
        {"input_ref": {"uri": "https://[2606:4700::1111]/a"}},
        {"input_ref": {"uri": "abfss://data@lake.dfs.core.windows.net/a b/ü.pdf"}},
        {"input_ref": {"uri": "gs://my.bucket.example.com/...a/b..c/.d"}},
        {"input_ref": {"uri": "az://$web"}},
    ],
)
def test_odd_but_honest_bodies_pass(changes: dict[str, Any]) -> None:
    """Strictness refuses no honest command."""
    for text in (json.dumps(valid(**changes)), json.dumps(valid(**changes), ensure_ascii=False, indent=1)):
        for content_type in (JSON, "application/json; charset=UTF-8", 'Application/JSON;charset="utf-8"'):
            assert pass_the_door(content_type, text.encode()).tenant_id == TENANT
