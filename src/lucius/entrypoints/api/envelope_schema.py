"""The command envelope as a schema, for readers of the OpenAPI document.

The judge is `wire.envelope`; a schema cannot say everything it knows (which request types exist, which
references are allowed). What the schema does say is true of every command that is accepted.
"""

from __future__ import annotations

from typing import Any

_NULL = {"type": "null"}
_REF: dict[str, Any] = {
    "type": "object",
    "required": ["uri"],
    "properties": {"uri": {"type": "string", "maxLength": 2048}},
    "description": "A reference: a `uri` (s3, az, abfs, gs or https) and whatever metadata its owner likes.",
}


def _optional(**schema: Any) -> dict[str, Any]:
    return {"anyOf": [schema, _NULL]}


EXAMPLE: dict[str, Any] = {
    "tenant_id": "acme",
    "request_type": "OCR_EMBEDDING_SIS",
    "input_ref": {"uri": "s3://scans/acme/claim-17.pdf"},
    "output_ref": {"uri": "s3://results/acme/claim-17/"},
    "payload": {},
    "schema_version": "1",
    "doc_id": "claim-17",
    "correlation_id": "batch-2026-01",
}

ENVELOPE: dict[str, Any] = {
    "title": "Envelope",
    "description": "A command, version 1. Unknown fields are refused, except names starting `x-`.",
    "type": "object",
    "required": ["tenant_id", "request_type", "input_ref", "output_ref", "payload", "schema_version"],
    "properties": {
        "tenant_id": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"},
        "request_type": {"type": "string", "minLength": 1, "maxLength": 128},
        "input_ref": _REF,
        "output_ref": _REF,
        "payload": {
            "type": "object",
            "description": "A section per step, by step id, and `common`; for one step also flat.",
        },
        "schema_version": {"enum": ["1", "1.0", "v1"]},
        "mode": _optional(enum=["DEFAULT", "SAFE", "BURST"]),
        "doc_id": _optional(type="string", pattern="^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$"),
        "idempotency_key": _optional(type="string", pattern="^[ -~]{1,200}$"),
        "callback_urls": _optional(
            type="array", minItems=1, maxItems=5, items={"type": "string", "maxLength": 2048}
        ),
        "correlation_id": _optional(type="string", pattern="^[ -~]{1,128}$"),
        "traceparent": _optional(
            type="string", pattern="^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"
        ),
        "not_before": _optional(type="string", format="date-time"),
        "priority": _optional(type="integer", minimum=0, maximum=9),
    },
    "patternProperties": {"^x-[A-Za-z0-9._-]{1,64}$": {}},
    "additionalProperties": False,
    "examples": [EXAMPLE],
}
