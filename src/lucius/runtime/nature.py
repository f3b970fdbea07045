"""Clock, ids and chance: the only place that takes them from the world."""

from __future__ import annotations

import asyncio
import random
import secrets
import time

from uuid_utils import uuid7

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


def chance() -> Chance:
    """What one decision may draw on."""
    return Chance(lease_id=uuid7().hex, spread=spread())


def lock_token() -> str:
    """A token nobody guesses; it leaves the process."""
    return secrets.token_urlsafe(18)
