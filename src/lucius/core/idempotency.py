"""When two commands are one: the fingerprint of a command, and the two spaces keys live in.

No state. The fingerprint is SHA-256 over RFC 8785 canonical JSON of six fields. A command with an
explicit key is known by that key, any other by its fingerprint; the stored keys start `k:` and `d:`,
so no explicit key can meet a derived one. Both are scoped to their tenant by the row that holds them.
The fingerprint is stored beside an explicit key: the same key with another fingerprint is a conflict,
and `differing_pointers` says where.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import reduce
from typing import Any

import msgspec
import rfc8785

from lucius.core.pointer import child, shortened
from lucius.core.routing import normalise
from lucius.errors import Invalid

FIELDS = ("tenant_id", "request_type", "input_ref", "output_ref", "payload", "schema_version")
MAX_POINTERS = 32

_Path = tuple[str | int, ...]
_SAFE_INTEGER = 2**53 - 1
_encode = msgspec.json.Encoder(order="sorted").encode


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a command claims to be, once, for its tenant."""

    key: str
    """`k:` and the hash of the given key, or `d:` and the fingerprint."""
    fingerprint: str
    explicit: bool


def fields_of(command: Mapping[str, Any]) -> dict[str, Any]:
    """The six fields that make a command what it is; nulls left out, the tenant normalised."""
    fields = {name: value for name in FIELDS if (value := command.get(name)) is not None}
    if "tenant_id" in fields:
        fields["tenant_id"] = normalise(fields["tenant_id"])
    return fields


def fingerprint(command: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of the canonical form of a command's six fields."""
    return hashlib.sha256(canonical(fields_of(command))).hexdigest()


def claim_of(command: Mapping[str, Any], explicit_key: str | None) -> Claim:
    """The claim a command makes with the key its sender gave, or with none."""
    body = fingerprint(command)
    if explicit_key is None:
        return Claim(key=f"d:{body}", fingerprint=body, explicit=False)
    hashed = hashlib.sha256(explicit_key.encode()).hexdigest()
    return Claim(key=f"k:{hashed}", fingerprint=body, explicit=True)


def canonical(value: Any) -> bytes:
    """RFC 8785 bytes. Where both encoders are known to agree the quick one is taken."""
    if _encoders_agree(value):
        return _encode(value)
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        message = f"The command has no canonical form: {error}."
        raise Invalid(message, code="NUMBER_OUT_OF_RANGE") from error


def _encoders_agree(value: Any) -> bool:
    """True if sorted msgspec is RFC 8785 for this value.

    They differ in the order of keys outside ASCII (RFC 8785 sorts by UTF-16), in integers no double
    holds, and in how whole, very small and very large fractions are spelled.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is dict:
        return all(
            type(name) is str and name.isascii() and (type(inner) is str or _encoders_agree(inner))
            for name, inner in value.items()
        )
    if kind is list:
        return all(map(_encoders_agree, value))
    if kind is int:
        return bool(-_SAFE_INTEGER <= value <= _SAFE_INTEGER)
    return bool(kind is float and 1e-4 <= abs(value) < 1e15 and not value.is_integer())  # noqa: PLR2004


def differing_pointers(old: Any, new: Any) -> list[str]:
    """Where two documents differ, at most 32 places; 1 and 1.0 are the same number, true is none."""
    found: list[_Path] = []
    _compare(old, new, (), found)
    return [shortened(reduce(child, path, "")) for path in found[:MAX_POINTERS]]


def _compare(old: Any, new: Any, path: _Path, found: list[_Path]) -> None:
    if len(found) >= MAX_POINTERS:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted({*old, *new}):
            if name in old and name in new:
                _compare(old[name], new[name], (*path, name), found)
            else:
                found.append((*path, name))
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        for index in range(max(len(old), len(new))):
            if index < len(old) and index < len(new):
                _compare(old[index], new[index], (*path, index), found)
            else:
                found.append((*path, index))
    elif isinstance(old, bool) is not isinstance(new, bool) or old != new:
        found.append(path)
