"""Clocks, chance and an issuer for the credential tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256

from lucius.testing.forgeries import Issuer

NOW = 1_800_000_000_000


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        """What the test set."""
        return self.now


def steady_bytes(seed: str = "seed") -> Callable[[int], bytes]:
    """Bytes that look random and repeat from run to run."""
    count = 0

    def token_bytes(size: int) -> bytes:
        nonlocal count
        count += 1
        return sha256(f"{seed}{count}".encode()).digest()[:size]

    return token_bytes


@cache
def the_issuer() -> Issuer:
    """One issuer for all tests: making RSA keys is slow."""
    return Issuer()
