"""JSON as a security check must read it: one meaning or none."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")


def strict_object(text: bytes) -> dict[str, Any]:
    """An object without duplicate members, NaN or infinity; raise `ValueError` for anything else.

    Two parsers may pick different ones of two equal names, and then one of them checks what the
    other does not use.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - one error for bad input
    return value


def base64url(text: str) -> bytes:
    """Unpadded base64url, in its one canonical form; raise `ValueError` otherwise."""
    if not _BASE64URL.fullmatch(text):
        raise ValueError("not base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise ValueError("not base64url") from None
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != text:
        raise ValueError("not canonical base64url")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate member")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
