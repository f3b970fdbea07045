"""The OpenAPI document: FastAPI's, with our records as schemas and every refusal described."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from fastapi.openapi.utils import get_openapi

from lucius.entrypoints.api import admin_shapes, requests, shapes
from lucius.entrypoints.api.envelope_schema import ENVELOPE
from lucius.entrypoints.api.lifebook import requests as run_requests
from lucius.entrypoints.api.lifebook import shapes as run_shapes
from lucius.entrypoints.api.lifebook import trigger_shapes
from lucius.entrypoints.http.problems import MEDIA_TYPE, ProblemDocument
from lucius.wire.views import JobView

if TYPE_CHECKING:
    from fastapi import FastAPI

_REF = "#/components/schemas/{name}"
_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="ProblemDocument")}}}
_ALWAYS = (401, 403, 422, 500, 503)
_WORDS = {
    202: "Taken; it goes on.",
    204: "The story is over; there is nothing to wait for.",
    401: "No credential, or one that does not verify.",
    402: "The workspace has fewer free credits than the run may cost.",
    403: "The credential does not allow this.",
    404: "Nothing of that id that this credential may see.",
    409: "The state of the job does not allow this.",
    413: "The body is too large.",
    415: "The body is not announced as application/json.",
    422: "The request is wrong; `errors` says where.",
    429: "The tenant holds as many jobs as it may; try again after `Retry-After` seconds.",
    500: "An unexpected error; the incident id is in the log.",
    503: "The system is full, or a part of it is away; try again after `Retry-After` seconds.",
}
_HEADERS = {
    401: {"WWW-Authenticate": {"schema": {"type": "string"}}},
    429: {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds"}},
    503: {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds"}},
}
_SECURITY_SCHEMES = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a JWT"},
    "callbackToken": {"type": "http", "scheme": "bearer", "description": "The directive's callback_token"},
}
CREDENTIAL: list[dict[str, list[str]]] = [{"apiKey": []}, {"bearer": []}, {}]
CALLBACK: list[dict[str, list[str]]] = [{"callbackToken": []}, {}]
NOBODY: list[dict[str, list[str]]] = [{}]


def answers(
    good: Mapping[int, type | None],
    *errors: int,
    also: Mapping[int, dict[str, Any]] | None = None,
    always: tuple[int, ...] = _ALWAYS,
) -> dict[int | str, dict[str, Any]]:
    """What an operation may answer: the good statuses with their records, the bad ones with problems."""
    found: dict[int | str, dict[str, Any]] = {}
    for status, record in good.items():
        content = {} if record is None else {"application/json": {"schema": ref(record)}}
        content |= {kind: {"schema": schema} for kind, schema in (also or {}).get(status, {}).items()}
        found[status] = {"description": _words(status)} | ({"content": content} if content else {})
    for status in sorted({*errors, *always}):
        found[status] = {"description": _words(status), "content": _PROBLEM}
        if status in _HEADERS:
            found[status]["headers"] = _HEADERS[status]
    return found


def body_of(shape: type | str, *, required: bool = True, **more: Any) -> dict[str, Any]:
    """The request body of an operation, for `openapi_extra`."""
    schema = {"$ref": _REF.format(name=shape)} if isinstance(shape, str) else ref(shape)
    return {
        "requestBody": {"required": required, "content": {"application/json": {"schema": schema} | more}},
        "security": CREDENTIAL,
    }


def ref(record: type) -> dict[str, Any]:
    """A reference to the schema of a record."""
    return {"$ref": _REF.format(name=record.__name__)}


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document."""
    made = get_openapi(
        title="Lucius",
        version=app.version,
        summary="A control plane for multi-tenant document jobs.",
        description="Every refusal is RFC 9457 problem+json with a stable `code`. Times are ISO-8601 UTC.",
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    for path, item in made["paths"].items():
        for operation in item.values():
            operation.setdefault("security", NOBODY if path in _OPEN else CREDENTIAL)
    components = made.setdefault("components", {})
    # Several records share bases and parts; FastAPI's own schemas are only those of parameters.
    schemas = components.get("schemas", {}) | _components() | {"Envelope": ENVELOPE}
    components["schemas"] = {name: schemas[name] for name in sorted(schemas) if name not in _UNUSED}
    components["securitySchemes"] = _SECURITY_SCHEMES
    return made


_OPEN = frozenset({"/healthz", "/readyz", "/openapi.json"})
_UNUSED = frozenset({"HTTPValidationError", "ValidationError"})


def _components() -> dict[str, Any]:
    rooms = (shapes, admin_shapes, requests, run_shapes, run_requests, trigger_shapes)
    records = [
        value
        for room in rooms
        for value in vars(room).values()
        if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == room.__name__
    ]
    _, schemas = msgspec.json.schema_components([*records, ProblemDocument, JobView], ref_template=_REF)
    return schemas


def _words(status: int) -> str:
    return _WORDS.get(status, HTTPStatus(status).phrase)
