r"""The one way bytes become a document: I-JSON, or a refusal that says where it hurts.

No state. The good case costs one decode, one encode and a few byte counts. Whatever does not pass
these is read again by `exact_json`, slowly and precisely; it has the last word and words the refusal.

Why the counts are exact: a decoder that meets a key twice drops a member, and with it the colon
between its key and its value. Colons inside strings survive a round trip unless they were escaped
(`\u003a`), and such bodies take the slow way. So equal colon counts mean that nothing was dropped.
"""

from __future__ import annotations

from typing import Any

import orjson

from lucius.errors import Invalid
from lucius.wire.exact_json import SAFE_INTEGER, read_exactly

MAX_BYTES = 256 * 1024
MAX_DEPTH = 32

_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_SIXTEEN_DIGITS = b"0" * 16
"""The shortest integer that is out of range has as many."""


def parse(raw: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> dict[str, Any]:
    """The object in `raw`; raises `Invalid` (400 not JSON, 413 too large, 422 not acceptable)."""
    if len(raw) > max_bytes:
        message = f"The body has {len(raw)} bytes; at most {max_bytes} are taken."
        raise Invalid(message, code="BODY_TOO_LARGE", status=413)
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return read_exactly(raw, max_depth=max_depth)
    if type(document) is dict and _is_plain(raw, document, max_depth):
        return document
    return read_exactly(raw, max_depth=max_depth)


def check_content_type(value: str | None) -> None:
    """Refuse anything but `application/json`, with or without `charset=utf-8`."""
    kind, _, parameter = (value or "").partition(";")
    charset = parameter.strip().lower().replace('"', "")
    if kind.strip().lower() != "application/json" or charset not in {"", "charset=utf-8"}:
        message = "Send the body as application/json, encoded in UTF-8."
        raise Invalid(message, code="UNSUPPORTED_MEDIA_TYPE", status=415)


def _is_plain(raw: bytes, document: dict[str, Any], max_depth: int) -> bool:
    """True only if the decoded document is certain to be the whole truth about `raw`."""
    if raw.count(b"{") + raw.count(b"[") > max_depth and _is_deeper(document, max_depth):
        return False
    if b"\\u003a" in raw or b"\\u003A" in raw:
        return False
    if raw.count(b":") != orjson.dumps(document).count(b":"):
        return False
    return _SIXTEEN_DIGITS not in raw.translate(_DIGITS_TO_ZERO) or not _has_large_number(document)


def _is_deeper(value: Any, levels: int) -> bool:
    if type(value) is dict:
        return levels == 0 or any(_is_deeper(inner, levels - 1) for inner in value.values())
    if type(value) is list:
        return levels == 0 or any(_is_deeper(inner, levels - 1) for inner in value)
    return False


def _has_large_number(value: Any) -> bool:
    """True for numbers an integer literal out of range may have become (64 bits and more: a float)."""
    if type(value) is dict:
        return any(map(_has_large_number, value.values()))
    if type(value) is list:
        return any(map(_has_large_number, value))
    return type(value) in {int, float} and abs(value) > SAFE_INTEGER
