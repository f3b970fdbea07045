"""The place in a list of runs, as text that only we read."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

import msgspec

from lucius.errors import Invalid

_Place = tuple[Annotated[int, msgspec.Meta(ge=0, le=2**53)], str]


def cursor_of(created_at: int, job_id: str) -> str:
    """Where a page ends."""
    return base64.urlsafe_b64encode(msgspec.json.encode((created_at, job_id))).decode().rstrip("=")


def place_of(cursor: str) -> tuple[int, str]:
    """Where the next page begins; raises `Invalid`."""
    try:
        raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        created_at, job_id = msgspec.json.decode(raw, type=_Place)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise Invalid(
            "The cursor is not one that a list of runs gave out; begin without one", code="INVALID_CURSOR"
        ) from None
    return created_at, job_id
