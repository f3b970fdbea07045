"""Bodies that must never become a job, each with the code of its refusal.

Data, not tests: the same corpus is driven through the functions that read a command and through a
running API. Every case has one fault and is otherwise a command that passes, so the code does not
depend on which check comes first. It assumes the default reference policy and the tenant `TENANT`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from lucius.testing.hostile_refs import CREDENTIAL_REFS, HOST_REFS, MALFORMED_REFS, PATH_REFS, SCHEME_REFS

TENANT = "acme"
JSON = "application/json"
MAX_BYTES = 256 * 1024


class Hostile(NamedTuple):
    """One body, how it is announced, and the stable code it is refused with."""

    name: str
    content_type: str
    raw: bytes
    code: str


def valid(**changes: Any) -> dict[str, Any]:
    """A command that passes, with some fields replaced."""
    return {
        "tenant_id": TENANT,
        "request_type": "OCR",
        "input_ref": {"uri": "s3://scans/acme/claim-17.pdf"},
        "output_ref": {"uri": "s3://results/acme/claim-17/"},
        "payload": {},
        "schema_version": "1",
    } | changes


def _body(**changes: Any) -> bytes:
    return json.dumps(valid(**changes)).encode()


def _with_payload(text: str | bytes) -> bytes:
    """A valid command around a payload that is spelled by hand."""
    inner = text if isinstance(text, bytes) else text.encode()
    return _body().replace(b'"payload": {}', b'"payload": ' + inner)


def _without(name: str) -> bytes:
    return json.dumps({key: value for key, value in valid().items() if key != name}).encode()


_GOOD = _body()

_BYTES = [
    ("empty body", b"", "INVALID_JSON"),
    ("blank body", b" \n\t ", "INVALID_JSON"),
    ("not json", b"tenant_id=acme", "INVALID_JSON"),
    ("cut short", _GOOD[:-1], "INVALID_JSON"),
    ("trailing garbage", _GOOD + b"x", "INVALID_JSON"),
    ("two documents", _GOOD + _GOOD, "INVALID_JSON"),
    ("trailing zero byte", _GOOD + b"\x00", "INVALID_JSON"),
    ("trailing comma", _GOOD[:-1] + b",}", "INVALID_JSON"),
    ("single quotes", _GOOD.replace(b'"', b"'"), "INVALID_JSON"),
    ("comment", b"/* hello */" + _GOOD, "INVALID_JSON"),
    ("form feed as blank", b"\x0c" + _GOOD, "INVALID_JSON"),
    ("leading zero", _with_payload('{"n": 01}'), "INVALID_JSON"),
    ("plus sign", _with_payload('{"n": +1}'), "INVALID_JSON"),
    ("bare fraction", _with_payload('{"n": .5}'), "INVALID_JSON"),
    ("hex number", _with_payload('{"n": 0x10}'), "INVALID_JSON"),
    ("raw control character in a string", _with_payload(b'{"s": "a\nb"}'), "INVALID_JSON"),
    ("bad escape", _with_payload(r'{"s": "\x41"}'), "INVALID_JSON"),
    ("arabic digits", _with_payload('{"n": \u0661}'), "INVALID_JSON"),
    ("byte order mark", b"\xef\xbb\xbf" + _GOOD, "UNEXPECTED_BOM"),
    ("utf-16", _GOOD.decode().encode("utf-16"), "UNEXPECTED_BOM"),
    ("latin-1", _with_payload(b'{"s": "M\xfcnchen"}'), "INVALID_UTF8"),
    ("overlong slash", _with_payload(b'{"s": "\xc0\xaf"}'), "INVALID_UTF8"),
    ("surrogate in utf-8", _with_payload(b'{"s": "\xed\xa0\x80"}'), "INVALID_UTF8"),
    ("beyond unicode", _with_payload(b'{"s": "\xf4\x90\x80\x80"}'), "INVALID_UTF8"),
    ("array", b"[]", "NOT_AN_OBJECT"),
    ("string", b'"acme"', "NOT_AN_OBJECT"),
    ("null", b"null", "NOT_AN_OBJECT"),
    ("NaN", _with_payload('{"n": NaN}'), "NON_FINITE_NUMBER"),
    ("Infinity", _with_payload('{"n": Infinity}'), "NON_FINITE_NUMBER"),
    ("minus Infinity", _with_payload('{"n": [-Infinity]}'), "NON_FINITE_NUMBER"),
    ("2^53", _with_payload('{"n": 9007199254740992}'), "NUMBER_OUT_OF_RANGE"),
    ("minus 2^53", _with_payload('{"n": -9007199254740992}'), "NUMBER_OUT_OF_RANGE"),
    ("2^64", _with_payload('{"n": [18446744073709551616]}'), "NUMBER_OUT_OF_RANGE"),
    ("1e400", _with_payload('{"n": 1e400}'), "NUMBER_OUT_OF_RANGE"),
    ("digit bomb", _with_payload('{"n": ' + "9" * 200_000 + "}"), "NUMBER_OUT_OF_RANGE"),
    ("duplicate tenant", _GOOD[:-1] + b', "tenant_id": "other"}', "DUPLICATE_KEY"),
    ("duplicate with equal value", _GOOD[:-1] + b', "tenant_id": "acme"}', "DUPLICATE_KEY"),
    ("duplicate spelled with escapes", _GOOD[:-1] + rb', "tenant\u005fid": "acme"}', "DUPLICATE_KEY"),
    ("duplicate deep inside", _with_payload('{"a": [{"b": {"c": 1, "c": 2}}]}'), "DUPLICATE_KEY"),
    ("duplicate hidden by colons", _with_payload(r'{"a": 1, "a": "\u003a"}'), "DUPLICATE_KEY"),
    ("duplicate of the empty key", _with_payload('{"": 1, "": 2}'), "DUPLICATE_KEY"),
    ("lone high surrogate", _with_payload(r'{"s": "\ud83d"}'), "LONE_SURROGATE"),
    ("lone low surrogate", _with_payload(r'{"s": "\ude00 x"}'), "LONE_SURROGATE"),
    ("lone surrogate in a key", _with_payload(r'{"\ud83d": 1}'), "LONE_SURROGATE"),
    ("array bomb", _with_payload("[" * 100_000 + "]" * 100_000), "TOO_DEEP"),
    ("open array bomb", b"[" * MAX_BYTES, "TOO_DEEP"),
    ("object bomb", _with_payload('{"a":' * 20_000 + "1" + "}" * 20_000), "TOO_DEEP"),
    ("one level too deep", _with_payload("[" * 32 + "]" * 32), "TOO_DEEP"),
    ("one byte too large", _GOOD + b" " * (MAX_BYTES + 1 - len(_GOOD)), "BODY_TOO_LARGE"),
]

_ENVELOPES = [
    *((f"missing {name}", _without(name), "REQUIRED") for name in valid()),
    ("null tenant", _body(tenant_id=None), "REQUIRED"),
    ("unknown field", _body(tenant="acme"), "UNKNOWN_FIELD"),
    ("field in other case", _body(Mode="BURST"), "UNKNOWN_FIELD"),
    ("prototype pollution", _body(__proto__={"admin": True}), "UNKNOWN_FIELD"),
    ("bare x-", _body(**{"x-": 1}), "UNKNOWN_FIELD"),
    ("large extension", _body(**{"x-note": "n" * 9000}), "EXTENSIONS_TOO_LARGE"),
    ("tenant as number", _body(tenant_id=17), "WRONG_TYPE"),
    ("tenant as list", _body(tenant_id=["acme"]), "WRONG_TYPE"),
    ("empty tenant", _body(tenant_id=" "), "INVALID_TENANT_ID"),
    ("tenant with slash", _body(tenant_id="acme/../other"), "INVALID_TENANT_ID"),
    ("tenant with zero byte", _body(tenant_id="acme\x00"), "INVALID_TENANT_ID"),
    ("tenant with unit separator", _body(tenant_id="acme\x1f"), "INVALID_TENANT_ID"),
    ("tenant with newline inside", _body(tenant_id="acme\nx"), "INVALID_TENANT_ID"),
    ("tenant with kelvin sign", _body(tenant_id="\u212aacme"), "INVALID_TENANT_ID"),
    ("tenant too long", _body(tenant_id="a" * 64), "INVALID_TENANT_ID"),
    ("request type with newline", _body(request_type="OCR\n"), "INVALID_REQUEST_TYPE"),
    ("request type as object", _body(request_type={"$ne": None}), "WRONG_TYPE"),
    ("version as number", _body(schema_version=1), "WRONG_TYPE"),
    ("unknown version", _body(schema_version="2"), "UNSUPPORTED_SCHEMA_VERSION"),
    ("lower-case mode", _body(mode="burst"), "INVALID_MODE"),
    ("burst without document", _body(mode="BURST"), "BURST_NEEDS_DOC_ID"),
    ("document id with dots", _body(doc_id="a/../b"), "INVALID_DOC_ID"),
    ("document id with control character", _body(doc_id="a\x1fb"), "INVALID_DOC_ID"),
    ("document id too long", _body(doc_id="d" * 201), "INVALID_DOC_ID"),
    ("empty key", _body(idempotency_key=""), "INVALID_IDEMPOTENCY_KEY"),
    ("key too long", _body(idempotency_key="k" * 201), "INVALID_IDEMPOTENCY_KEY"),
    ("key with header injection", _body(idempotency_key="k\r\nX-Admin: 1"), "INVALID_IDEMPOTENCY_KEY"),
    ("correlation id with line break", _body(correlation_id="a\nlevel=error"), "INVALID_CORRELATION_ID"),
    ("traceparent of zeros", _body(traceparent=f"00-{'0' * 32}-{'0' * 16}-01"), "INVALID_TRACEPARENT"),
    ("time without zone", _body(not_before="2031-05-04T10:00:00"), "INVALID_NOT_BEFORE"),
    ("time as number", _body(not_before=1935655200), "WRONG_TYPE"),
    ("no such day", _body(not_before="2031-02-30T10:00:00Z"), "INVALID_NOT_BEFORE"),
    ("priority as boolean", _body(priority=True), "WRONG_TYPE"),
    ("priority as fraction", _body(priority=1.0), "WRONG_TYPE"),
    ("priority too high", _body(priority=10), "INVALID_PRIORITY"),
    ("callback over http", _body(callback_urls=["http://hooks.example.com/"]), "INVALID_CALLBACK_URL"),
    (
        "callback with password",
        _body(callback_urls=["https://u:p@hooks.example.com/"]),
        "INVALID_CALLBACK_URL",
    ),
    ("six callbacks", _body(callback_urls=["https://hooks.example.com/"] * 6), "INVALID_CALLBACK_URLS"),
    ("callback as string", _body(callback_urls="https://hooks.example.com/"), "WRONG_TYPE"),
    ("payload as list", _body(payload=[]), "WRONG_TYPE"),
    ("reference as string", _body(input_ref="s3://scans/claim.pdf"), "WRONG_TYPE"),
    ("reference without uri", _body(input_ref={"url": "s3://scans/claim.pdf"}), "REF_URI_REQUIRED"),
    ("section of no step", _body(payload={"common": {}, "no-such-step": {}}), "UNKNOWN_SECTION"),
    ("section too large", _body(payload={"common": {"text": "x" * 31_000}}), "SECTION_TOO_LARGE"),
]

_REFS = [
    (f"{field}: {uri!r:.60}", _body(**{field: {"uri": uri}}), code)
    for field in ("input_ref", "output_ref")
    for uris, code in (
        (SCHEME_REFS, "REF_SCHEME_NOT_ALLOWED"),
        (MALFORMED_REFS, "REF_MALFORMED"),
        (HOST_REFS, "REF_HOST_NOT_PUBLIC"),
        (PATH_REFS, "REF_PATH_UNSAFE"),
        (CREDENTIAL_REFS, "REF_CREDENTIALS"),
    )
    for uri in uris
]

_MEDIA_TYPES = (
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/json; charset=utf-16",
    "application/json, text/plain",
    "text/json",
)

HOSTILE: list[Hostile] = [
    *(Hostile(f"media type {kind!r}", kind, _GOOD, "UNSUPPORTED_MEDIA_TYPE") for kind in _MEDIA_TYPES),
    *(Hostile(name, JSON, raw, code) for name, raw, code in (*_BYTES, *_ENVELOPES, *_REFS)),
]
