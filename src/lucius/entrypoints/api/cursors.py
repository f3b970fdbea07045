"""Opaque cursors: where a list goes on, and for which question.

A cursor is base64url over `[version, last id, hash of the filters]`. It names no secret and grants
nothing (the credential is asked again for every page), so it is not signed; a cursor of other filters
is refused because its pages would not fit together.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

import msgspec

from lucius.errors import Invalid

_VERSION = 1
_MAX = 400
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHAPE = msgspec.json.Decoder(tuple[int, str, str])


def cursor_after(last_id: str, filters: tuple[Any, ...]) -> str:
    """The cursor of the page behind `last_id`."""
    return urlsafe_b64encode(msgspec.json.encode((_VERSION, last_id, _hash(filters)))).rstrip(b"=").decode()


def id_in(cursor: str | None, filters: tuple[Any, ...]) -> str | None:
    """The id a page starts behind; raises `Invalid` for a cursor that is none, or is another list's."""
    if cursor is None:
        return None
    try:
        if len(cursor) > _MAX:
            raise ValueError  # noqa: TRY301 - one refusal for every kind of garbage
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        version, last_id, asked = _SHAPE.decode(urlsafe_b64decode(padded))
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise _invalid("The cursor is not one that Lucius gave out.") from None
    if version != _VERSION or not _ID.fullmatch(last_id):
        raise _invalid("The cursor is not one that Lucius gave out.")
    if asked != _hash(filters):
        raise _invalid("The cursor belongs to a list with other filters; start again without it.")
    return last_id


def _hash(filters: tuple[Any, ...]) -> str:
    return sha256(msgspec.json.encode(filters, order="sorted")).hexdigest()[:16]


def _invalid(message: str) -> Invalid:
    return Invalid(message, code="INVALID_CURSOR", status=400)
