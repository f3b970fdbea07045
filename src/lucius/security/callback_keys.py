"""The keys callback tokens are made with.

Several keys stand side by side. All of them verify; the newest one whose time has come signs. A
rotation adds a key that starts signing a little later, so that every process has read it by then,
and drops keys that stopped signing longer ago than a token lives.

A secret that is short, repetitive or a known placeholder is refused when the key is made, so no
process can start with one.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from hashlib import sha256

from lucius.errors import Invalid

TOKEN_LIFETIME_MS = 7 * 24 * 3_600_000
"""How long a token is good unless a deployment says otherwise; keys are kept for as long."""
SECRET_BYTES = 32
ACTIVATION_DELAY_MS = 60_000
"""A new key signs this long after it was written; processes reread the keys more often than that."""
_ID_BYTES = 5
_ID_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_MAX_ID = 16
_BLOCK = 64
#: 32 random bytes have fewer distinct values than this once in 3·10^16 draws.
_MIN_DISTINCT = 16
_PLACEHOLDERS = (
    b"changeme",
    b"change-me",
    b"secret",
    b"password",
    b"default",
    b"example",
    b"insecure",
    b"lucius",
)
_INNER_PAD = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD = bytes(byte ^ 0x5C for byte in range(256))


class CallbackKey:
    """One signing secret, with its HMAC states ready to copy."""

    __slots__ = ("_inner", "_outer", "active_from", "created_at", "key_id", "secret")

    def __init__(self, *, key_id: str, secret: bytes, created_at: int, active_from: int) -> None:
        check_secret(secret)
        if not 0 < len(key_id) <= _MAX_ID or not _ID_ALPHABET.issuperset(key_id):
            raise Invalid("A callback key id is 1 to 16 of a-z and 0-9.", code="BAD_KEY_ID")
        self.key_id = key_id
        self.secret = secret
        self.created_at = created_at
        self.active_from = active_from
        # HMAC (RFC 2104) spelled out: copying two started hashes costs half of hmac.digest.
        block = (secret if len(secret) <= _BLOCK else sha256(secret).digest()).ljust(_BLOCK, b"\0")
        self._inner = sha256(block.translate(_INNER_PAD))
        self._outer = sha256(block.translate(_OUTER_PAD))

    def __repr__(self) -> str:
        """Without the secret."""
        return f"CallbackKey({self.key_id})"

    def mac(self, message: bytes) -> str:
        """HMAC-SHA256 of a message, in hex."""
        inner = self._inner.copy()
        inner.update(message)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()


class CallbackKeys:
    """Every key that verifies, newest first. Never changes; a rotation makes another one."""

    __slots__ = ("_by_id", "keys")

    def __init__(self, keys: Iterable[CallbackKey]) -> None:
        self.keys = tuple(sorted(keys, key=lambda key: (key.active_from, key.created_at), reverse=True))
        self._by_id = {key.key_id: key for key in self.keys}
        if not self.keys:
            raise Invalid(
                "There is no callback key; Lucius cannot sign callback tokens.", code="NO_CALLBACK_KEY"
            )
        if len(self._by_id) != len(self.keys):
            raise Invalid("Two callback keys share an id; remove one.", code="BAD_KEY_ID")

    def __repr__(self) -> str:
        """Ids only."""
        return f"CallbackKeys({', '.join(self._by_id)})"

    def find(self, key_id: str) -> CallbackKey | None:
        """The key of that id."""
        return self._by_id.get(key_id)

    def signing(self, now: int) -> CallbackKey:
        """The key that signs at this moment."""
        for key in self.keys:
            if key.active_from <= now:
                return key
        return self.keys[-1]


def new_key(*, now: int, token_bytes: Callable[[int], bytes], delay: int = 0) -> CallbackKey:
    """A fresh key that signs `delay` milliseconds from now on."""
    key_id = base64.b32encode(token_bytes(_ID_BYTES)).decode().lower()
    return CallbackKey(
        key_id=key_id, secret=token_bytes(SECRET_BYTES), created_at=now, active_from=now + delay
    )


def rotated(
    keys: CallbackKeys, *, now: int, token_bytes: Callable[[int], bytes], lifetime: int = TOKEN_LIFETIME_MS
) -> CallbackKeys:
    """The keys with a fresh one in front and without those that no living token can need."""
    fresh = new_key(now=now, token_bytes=token_bytes, delay=ACTIVATION_DELAY_MS)
    kept = [fresh]
    successor = fresh
    for key in keys.keys:
        # A key signs until its successor starts, and its last token lives for one lifetime more.
        if successor.active_from + lifetime > now:
            kept.append(key)
        successor = key
    return CallbackKeys(kept)


def check_secret(secret: bytes) -> None:
    """Raise `Invalid` for a secret somebody could guess."""
    lowered = secret.lower()
    if len(secret) < SECRET_BYTES:
        problem = f"is {len(secret)} bytes long and needs {SECRET_BYTES}"
    elif len(set(secret)) < _MIN_DISTINCT:
        problem = "repeats itself"
    elif any(word in lowered for word in _PLACEHOLDERS):
        problem = "is a placeholder"
    else:
        return
    raise Invalid(
        f"The callback secret {problem}; remove it and Lucius makes a good one.", code="WEAK_SECRET"
    )
