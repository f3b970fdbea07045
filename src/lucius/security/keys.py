"""API keys: `lk_<key id>_<secret>`.

The secret is 256 random bits, so one SHA-256 is all the hashing it needs; only that hash is kept.
A key is born, may be revoked, may expire, and never changes otherwise. The text of a key exists
once, in the answer to whoever made it.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

import msgspec

from lucius.errors import Unauthenticated
from lucius.security.principal import Principal, Role

PREFIX = "lk_"
_ID_BYTES = 10
_SECRET_BYTES = 32
_ID_LENGTH = 16
_SECRET_LENGTH = 52
KEY_LENGTH = len(PREFIX) + _ID_LENGTH + 1 + _SECRET_LENGTH
_SECRET_AT = KEY_LENGTH - _SECRET_LENGTH
_NO_HASH = bytes(32)


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is stored: everything but the secret."""

    key_id: str
    secret_hash: bytes
    name: str
    principal: Principal
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a new key is to be good for."""

    name: str
    tenants: frozenset[str] | None
    """None: every tenant."""
    roles: frozenset[Role]
    step_types: frozenset[str] | None = None
    expires_at: int | None = None


class Minted(NamedTuple):
    """A new key and, this once, its text."""

    key: ApiKey
    text: str

    def __repr__(self) -> str:
        """Without the text, so that no log line can hold it."""
        return f"Minted({self.key.key_id})"


def mint(grant: Grant, *, now: int, token_bytes: Callable[[int], bytes]) -> Minted:
    """Make a key. `token_bytes` is `secrets.token_bytes` outside tests."""
    key_id = _base32(token_bytes(_ID_BYTES))
    secret = _base32(token_bytes(_SECRET_BYTES))
    key = ApiKey(
        key_id=key_id,
        secret_hash=sha256(secret.encode()).digest(),
        name=grant.name,
        principal=Principal(
            subject=f"key:{key_id}", tenants=grant.tenants, roles=grant.roles, step_types=grant.step_types
        ),
        created_at=now,
        expires_at=grant.expires_at,
    )
    return Minted(key, f"{PREFIX}{key_id}_{secret}")


def key_id_of(text: str) -> str | None:
    """The id inside a key's text, or None when it does not have the shape of one."""
    if len(text) != KEY_LENGTH or not text.startswith(PREFIX) or text[_SECRET_AT - 1] != "_":
        return None
    return text[len(PREFIX) : _SECRET_AT - 1]


def verify(text: str, key: ApiKey | None, *, now: int) -> Principal:
    """The principal behind a key's text, given the stored key of that id (or None).

    Unknown, wrong, revoked and expired keys look the same from outside and cost the same.
    """
    given = sha256(text[_SECRET_AT:].encode("utf-8", "surrogatepass")).digest()
    expected = _NO_HASH if key is None else key.secret_hash
    matches = hmac.compare_digest(given, expected)
    if (
        key is None
        or not matches
        or key.revoked_at is not None
        or (key.expires_at is not None and now >= key.expires_at)
    ):
        raise Unauthenticated(
            "The API key is unknown, revoked or expired; ask an administrator for a new one."
        )
    return key.principal


def _base32(data: bytes) -> str:
    """Letters and digits only, so that a double click selects the whole key."""
    return base64.b32encode(data).decode().rstrip("=").lower()
