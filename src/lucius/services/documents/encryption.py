"""The password protection of PDF 1.4 (RC4, 128 bits): enough to make a document that asks for one.

It is a format to be read, not a protection to be trusted.
"""

from __future__ import annotations

import hashlib

import msgspec

_PAD = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_PERMISSIONS = -4
DOCUMENT_ID = hashlib.sha256(b"lucius").digest()[:16]


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """What locks a document: the entries of its /Encrypt dictionary, and the key they lead to."""

    owner: bytes
    user: bytes
    key: bytes

    def dictionary(self) -> str:
        """The /Encrypt dictionary."""
        return (
            f"<< /Filter /Standard /V 2 /R 3 /Length 128 /P {_PERMISSIONS}"
            f" /O <{self.owner.hex()}> /U <{self.user.hex()}> >>"
        )

    def seal(self, data: bytes, number: int) -> bytes:
        """A stream of the object with this number, encrypted."""
        return _rc4(_md5(self.key + number.to_bytes(3, "little") + b"\0\0"), data)


def lock(password: str) -> Lock:
    """A lock that opens with one password."""
    padded = (password.encode("latin-1") + _PAD)[:32]
    owner = _rounds(_stretched(_md5(padded)), padded)
    permissions = _PERMISSIONS.to_bytes(4, "little", signed=True)
    key = _stretched(_md5(padded + owner + permissions + DOCUMENT_ID))
    return Lock(owner=owner, user=_rounds(key, _md5(_PAD + DOCUMENT_ID)) + bytes(16), key=key)


def _stretched(key: bytes) -> bytes:
    for _ in range(50):
        key = _md5(key)
    return key


def _rounds(key: bytes, data: bytes) -> bytes:
    for turn in range(20):
        data = _rc4(bytes(each ^ turn for each in key), data)
    return data


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    swap = 0
    for at in range(256):
        swap = (swap + state[at] + key[at % len(key)]) % 256
        state[at], state[swap] = state[swap], state[at]
    at = swap = 0
    made = bytearray()
    for each in data:
        at = (at + 1) % 256
        swap = (swap + state[at]) % 256
        state[at], state[swap] = state[swap], state[at]
        made.append(each ^ state[(state[at] + state[swap]) % 256])
    return bytes(made)
