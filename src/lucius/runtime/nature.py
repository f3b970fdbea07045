"""Clock, ids and chance: the only place that takes them from the world."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from base64 import urlsafe_b64encode

from uuid_utils import uuid4, uuid7

from lucius.core.decide import Chance

sleep = asyncio.sleep
token_bytes = secrets.token_bytes
spread = random.random


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """A time-ordered id."""
    return str(uuid7())


def random_id() -> str:
    """An id that tells nothing and that nobody guesses (UUID version 4)."""
    return str(uuid4())


def chance() -> Chance:
    """What one decision may draw on."""
    return Chance(lease_id=uuid7().hex, spread=spread())


class LockTokens:
    """Tokens nobody guesses, for they leave the process: 144 random bits each, drawn 256 at a time."""

    def __init__(self) -> None:
        self._ready: list[str] = []

    def __call__(self) -> str:
        """One that was never given out."""
        if not self._ready:
            drawn = urlsafe_b64encode(secrets.token_bytes(18 * 256)).decode()
            self._ready = [drawn[at : at + 24] for at in range(0, len(drawn), 24)]
        return self._ready.pop()


lock_token = LockTokens()
