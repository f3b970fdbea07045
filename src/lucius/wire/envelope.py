"""The command envelope, version 1: what a client may send, and the record it becomes.

No state. `read_envelope` finds everything that is wrong, not only the first thing, and raises one
`Invalid`; its code is the problem's own when all problems are of one kind, else INVALID_ENVELOPE.
An optional field that is null counts as absent; names starting `x-` are kept as extensions; any
other unknown name is refused. The grammar of each field is in `fields`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from lucius.core.pointer import Findings, child
from lucius.core.routing import BURST
from lucius.errors import Invalid
from lucius.wire import fields as grammar

REQUIRED = ("tenant_id", "request_type", "input_ref", "output_ref", "payload", "schema_version")
MAX_EXTENSIONS = 8 * 1024

_EXTENSION = re.compile(r"x-[A-Za-z0-9._-]{1,64}", re.ASCII)


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A command as it came, in the one spelling Lucius uses inside."""

    tenant_id: str
    request_type: str
    input_ref: dict[str, Any]
    output_ref: dict[str, Any]
    payload: dict[str, Any]
    schema_version: str
    mode: str | None = None
    doc_id: str | None = None
    idempotency_key: str | None = None
    callback_urls: tuple[str, ...] = ()
    correlation_id: str | None = None
    traceparent: str | None = None
    not_before: int | None = None
    priority: int = 0
    extensions: dict[str, Any] = {}


def _reader_of_object(name: str) -> Callable[[Any, Findings], dict[str, Any]]:
    pointer = f"/{name}"

    def read(value: Any, findings: Findings) -> dict[str, Any]:
        if type(value) is dict:
            return value
        findings.note(pointer, "WRONG_TYPE", "Must be an object.")
        return {}

    return read


_READERS: dict[str, Callable[[Any, Findings], Any]] = {
    "tenant_id": grammar.read_tenant,
    "request_type": grammar.read_request_type,
    "input_ref": _reader_of_object("input_ref"),
    "output_ref": _reader_of_object("output_ref"),
    "payload": _reader_of_object("payload"),
    "schema_version": grammar.read_schema_version,
    "mode": grammar.read_mode,
    "doc_id": grammar.read_doc_id,
    "idempotency_key": grammar.read_idempotency_key,
    "callback_urls": grammar.read_callback_urls,
    "correlation_id": grammar.read_correlation_id,
    "traceparent": grammar.read_traceparent,
    "not_before": grammar.read_not_before,
    "priority": grammar.read_priority,
}


def read_envelope(document: dict[str, Any], *, header_key: str | None = None) -> Envelope:
    """The record of a parsed document; `header_key` is the Idempotency-Key header, if one came."""
    findings = Findings()
    given: dict[str, Any] = {}
    extensions: dict[str, Any] = {}
    for name, value in document.items():
        reader = _READERS.get(name)
        if reader is None:
            if _EXTENSION.fullmatch(name):
                extensions[name] = value
            else:
                findings.note(child("", name), "UNKNOWN_FIELD", "The envelope has no such field.")
        elif value is not None:
            given[name] = reader(value, findings)
    if extensions:
        given["extensions"] = extensions
    _check_together(given, findings)
    if header_key is not None:
        _take_header_key(header_key, given, findings)
    if findings:
        raise _refusal(findings)
    return Envelope(**given)


def _check_together(given: dict[str, Any], findings: Findings) -> None:
    """What no field can know alone."""
    for name in REQUIRED:
        if name not in given:
            findings.note(f"/{name}", "REQUIRED", "The field is required.")
    if given.get("mode") == BURST and "doc_id" not in given:
        findings.note("/doc_id", "BURST_NEEDS_DOC_ID", "Mode BURST needs a doc_id.")
    if "extensions" in given and len(msgspec.json.encode(given["extensions"])) > MAX_EXTENSIONS:
        findings.note("", "EXTENSIONS_TOO_LARGE", f"The x- fields may take {MAX_EXTENSIONS} bytes together.")


def _take_header_key(header_key: str, given: dict[str, Any], findings: Findings) -> None:
    grammar.read_idempotency_key(header_key, findings, "")
    if given.setdefault("idempotency_key", header_key) != header_key:
        message = (
            "The Idempotency-Key header and idempotency_key differ; send one of them, or the same twice."
        )
        findings.note("/idempotency_key", "IDEMPOTENCY_KEY_MISMATCH", message)


def _refusal(findings: Findings) -> Invalid:
    problems, codes = findings.problems, findings.codes
    if "IDEMPOTENCY_KEY_MISMATCH" in codes:
        code, status = "IDEMPOTENCY_KEY_MISMATCH", 400
    elif "UNSUPPORTED_SCHEMA_VERSION" in codes:  # the other rules may not even hold for that version
        code, status = "UNSUPPORTED_SCHEMA_VERSION", 422
    else:
        code, status = (problems[0].code if len(codes) == 1 else "INVALID_ENVELOPE"), 422
    message = problems[0].message if len(problems) == 1 else f"The envelope has {len(problems)} problems."
    return Invalid(message, code=code, status=status, problems=problems)
