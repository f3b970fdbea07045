r"""Keys and bytes in the form Azure Tables takes: escaped, compressed, cut into properties.

A key may hold 512 characters without `/ \ # ?` and control characters; a property 64 KiB, an entity 1 MiB.
Azurite takes more than Azure does, so the limits are checked here.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final

from lucius.errors import Invalid
from lucius.sdk.serving.ports import AttemptKey

PIECE: Final = 60_000
PIECES: Final = 8
"""Of the directive, and as many of the result: together they stay below 1 MiB."""
LONGEST_KEY: Final = 400
SHARDS: Final = 8
"""Partitions of a table: Azure gives each some thousand requests a second."""
_STRANGE: Final = re.compile(r"[^A-Za-z0-9._-]")


def place(key: AttemptKey) -> tuple[str, str]:
    """PartitionKey of an attempt, one of SHARDS, and the part of its RowKey that names it."""
    shard = hashlib.sha256(key.job_id.encode()).digest()[0] % SHARDS
    names = (_escaped(key.job_id), _escaped(key.step_id), str(key.attempt_no), _escaped(key.lease_id))
    return f"{shard:02x}", _short("!".join(names))


def pack(name: str, data: bytes) -> dict[str, bytes]:
    """Bytes as properties `name0`, `name1`, …; `Invalid` if Azure would not take them."""
    packed = zlib.compress(data)
    if len(packed) > PIECE * PIECES:
        message = (
            f"The {name} of an attempt has {len(data)} bytes, {len(packed)} when compressed; an Azure table "
            f"takes {PIECE * PIECES}. Hand on large data as artifacts, or keep the attempts elsewhere."
        )
        raise Invalid(message, code="ATTEMPT_TOO_LARGE")
    starts = range(0, len(packed), PIECE)
    return {f"{name}{number}": packed[start : start + PIECE] for number, start in enumerate(starts)}


def unpack(name: str, entity: Mapping[str, Any]) -> bytes | None:
    """What `pack` packed, or None if there is nothing of that name."""
    pieces: list[bytes] = []
    while (piece := entity.get(f"{name}{len(pieces)}")) is not None:
        pieces.append(piece)
    return zlib.decompress(b"".join(pieces)) if pieces else None


def without(name: str, entity: Mapping[str, Any]) -> dict[str, Any]:
    """The entity without what was packed under a name."""
    gone = re.compile(rf"{name}\d+")
    return {field: value for field, value in entity.items() if not gone.fullmatch(field)}


def _escaped(text: str) -> str:
    """Text whose strange characters are `~XX`, byte by byte; different texts stay different."""
    return _STRANGE.sub(lambda found: "".join(f"~{byte:02X}" for byte in found[0].encode()), text)


def _short(escaped: str) -> str:
    """A key that is too long ends in its hash; `~~` is in no other key."""
    if len(escaped) <= LONGEST_KEY:
        return escaped
    return f"{escaped[:300]}~~{hashlib.sha256(escaped.encode()).hexdigest()}"
