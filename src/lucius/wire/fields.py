"""The grammar of each envelope field. Types are strict: nothing is converted from another type.

    tenant_id       [a-z0-9][a-z0-9_-]{0,62}, after ASCII blanks are trimmed and letters lowered
    doc_id          [A-Za-z0-9][A-Za-z0-9._:@/-]{0,199} without `..`, after ASCII blanks are trimmed
    request_type    1-128 printable characters, no blanks at the ends; protocols say which exist
    schema_version  "1", "1.0" or "v1", all read as "1"
    mode            DEFAULT, SAFE (read as DEFAULT) or BURST
    idempotency_key 1-200 printable ASCII characters
    correlation_id  1-128 printable ASCII characters
    traceparent     W3C Trace Context
    not_before      RFC 3339 with seconds and a zone, from 1970 on; read as milliseconds, rounded down
    priority        an integer from 0 to 9
    callback_urls   1-5 https URLs (http only to this machine) of at most 2048 ASCII characters, no userinfo,
                    no fragment

A reader gets the value and the findings; what it returns counts only if it noted nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from lucius.core.pointer import Findings, child
from lucius.core.routing import BURST, DEFAULT, trim

MAX_URL = 2048
MAX_CALLBACKS = 5
MAX_PRIORITY = 9

TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
DOC_ID = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}", re.ASCII)
_PRINTABLE_200 = re.compile(r"[\x20-\x7e]{1,200}")
_PRINTABLE_128 = re.compile(r"[\x20-\x7e]{1,128}")
_SPAN = r"-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
_TRACEPARENT = re.compile(rf"00{_SPAN}|(?!00|ff)[0-9a-f]{{2}}{_SPAN}(?:-[\x21-\x7e]{{0,200}})?")
_TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
#: http to this machine is for a Lucius in open mode; whether it is, the webhook guard knows.
_CALLBACK = re.compile(
    r"(?:https://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)|http://(?:localhost|127\.0\.0\.1|\[::1\]))"
    r"(?::\d{1,5})?(?:[/?][!$-;=?-Z\[\]_a-z~]*)?",
    re.ASCII,
)
_VERSIONS = frozenset({"1", "1.0", "v1"})
_MODES = {"DEFAULT": DEFAULT, "SAFE": DEFAULT, "BURST": BURST}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def _is_text(value: Any, pointer: str, findings: Findings) -> bool:
    if type(value) is str:
        return True
    findings.note(pointer, "WRONG_TYPE", "Must be a string.")
    return False


def read_tenant(value: Any, findings: Findings) -> str:
    """The normalised tenant id."""
    if not _is_text(value, "/tenant_id", findings):
        return ""
    # Only ASCII is lowered: the Kelvin sign would become a plain k and pass for another tenant.
    tenant = trim(value).lower() if value.isascii() else ""
    if not TENANT.fullmatch(tenant):
        message = "Must be 1 to 63 letters, digits, _ or -, starting with a letter or digit."
        findings.note("/tenant_id", "INVALID_TENANT_ID", message)
    return tenant


def read_doc_id(value: Any, findings: Findings) -> str:
    """The document id without surrounding blanks; its case is kept."""
    if not _is_text(value, "/doc_id", findings):
        return ""
    doc_id = trim(value)
    if not DOC_ID.fullmatch(doc_id):
        message = (
            "Must be 1 to 200 letters, digits or . _ : @ / -, starting with a letter or digit, without '..'."
        )
        findings.note("/doc_id", "INVALID_DOC_ID", message)
    return doc_id


def read_request_type(value: Any, findings: Findings) -> str:
    """The name of what is asked for."""
    if not _is_text(value, "/request_type", findings):
        return ""
    if not (1 <= len(value) <= 128 and value.isprintable() and value.strip() == value):  # noqa: PLR2004
        message = "Must be 1 to 128 printable characters without blanks at the ends."
        findings.note("/request_type", "INVALID_REQUEST_TYPE", message)
    return str(value)


def read_schema_version(value: Any, findings: Findings) -> str:
    """Always "1": the only version there is."""
    if _is_text(value, "/schema_version", findings) and value not in _VERSIONS:
        message = 'This version of the envelope is not known here; send "1".'
        findings.note("/schema_version", "UNSUPPORTED_SCHEMA_VERSION", message)
    return "1"


def read_mode(value: Any, findings: Findings) -> str:
    """DEFAULT or BURST."""
    if _is_text(value, "/mode", findings) and value not in _MODES:
        findings.note("/mode", "INVALID_MODE", "Must be DEFAULT, SAFE or BURST.")
        return ""
    return _MODES[value] if type(value) is str else ""


def read_idempotency_key(value: Any, findings: Findings, pointer: str = "/idempotency_key") -> str:
    """The sender's own key."""
    if _is_text(value, pointer, findings) and not _PRINTABLE_200.fullmatch(value):
        message = "The idempotency key must be 1 to 200 printable ASCII characters."
        findings.note(pointer, "INVALID_IDEMPOTENCY_KEY", message)
    return str(value)


def read_correlation_id(value: Any, findings: Findings) -> str:
    """The sender's name for the larger thing this command is part of."""
    if _is_text(value, "/correlation_id", findings) and not _PRINTABLE_128.fullmatch(value):
        findings.note(
            "/correlation_id", "INVALID_CORRELATION_ID", "Must be 1 to 128 printable ASCII characters."
        )
    return str(value)


def read_traceparent(value: Any, findings: Findings) -> str:
    """The span this command came from."""
    if _is_text(value, "/traceparent", findings) and not _TRACEPARENT.fullmatch(value):
        findings.note("/traceparent", "INVALID_TRACEPARENT", "Must be a W3C traceparent.")
    return str(value)


def read_not_before(value: Any, findings: Findings) -> int:
    """The earliest start in milliseconds since the epoch."""
    if not _is_text(value, "/not_before", findings):
        return 0
    try:
        moment = datetime.fromisoformat(value.upper()) if _TIMESTAMP.fullmatch(value) else None
    except ValueError:
        moment = None
    if moment is None or moment < _EPOCH:
        message = "Must be an RFC 3339 time with a zone, such as 2031-05-04T10:00:00Z, from 1970 on."
        findings.note("/not_before", "INVALID_NOT_BEFORE", message)
        return 0
    return (moment - _EPOCH) // _MILLISECOND


def read_priority(value: Any, findings: Findings) -> int:
    """0 (the default) to 9."""
    if type(value) is not int:
        findings.note("/priority", "WRONG_TYPE", "Must be an integer.")
        return 0
    if not 0 <= value <= MAX_PRIORITY:
        findings.note("/priority", "INVALID_PRIORITY", "Must be from 0 to 9.")
    return value


def read_callback_urls(value: Any, findings: Findings) -> tuple[str, ...]:
    """Where job changes are told; whether the hosts may be called is judged when they are."""
    if type(value) is not list:
        findings.note("/callback_urls", "WRONG_TYPE", "Must be a list of URLs.")
        return ()
    if not 1 <= len(value) <= MAX_CALLBACKS:
        findings.note(
            "/callback_urls", "INVALID_CALLBACK_URLS", "Must hold 1 to 5 URLs; leave it out for none."
        )
        return ()
    for index, url in enumerate(value):
        pointer = child("/callback_urls", index)
        if _is_text(url, pointer, findings) and not (len(url) <= MAX_URL and _CALLBACK.fullmatch(url)):
            message = (
                "Must be an https URL of at most 2048 ASCII characters, without user, password or fragment."
            )
            findings.note(pointer, "INVALID_CALLBACK_URL", message)
    return tuple(value)
