"""The queue: messages that are lent, and come back unless they are deleted. Two of them: work, dead letters.

At least once, in no promised order. A message that was lent `max_receives` times moves to the dead letters
instead of being lent again. Settling a message whose loan has ended is no error: somebody else has it now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from lucius.lifebook.core.run import Envelope

MAX_RECEIVES = 8
"""More than attempts (5), so that the record and not the queue decides when a run is dead."""
MAX_DELAY_SECONDS = 900
MAX_HIDDEN_SECONDS = 43_200
MAX_WAIT_SECONDS = 20
MAX_BATCH = 10


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is lent to a receiver."""

    message_id: str
    receipt: str
    """Names this loan."""
    body: bytes
    receives: int
    """How often it was lent, this time included."""
    send_no: int | None
    """Which of the run's messages it is; None: its sender did not say."""
    sent_at: int
    """Milliseconds since the epoch."""


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """How much is in a queue, about."""

    visible: int
    hidden: int
    """Lent, or waiting for its time."""


class RunQueue(Protocol):
    """One queue. Raises `Unavailable` when it cannot be reached. Limits above are kept by the adapter."""

    async def send(self, envelope: Envelope, *, send_no: int, delay_seconds: float = 0) -> None:
        """Put a message in; it is there when this returns."""
        ...

    async def receive(self, limit: int, *, wait_seconds: float, hidden_seconds: float) -> Sequence[Delivery]:
        """Up to `limit` (at most 10) messages, hidden from others for a while; waits for the first."""
        ...

    async def hide(self, delivery: Delivery, seconds: float) -> None:
        """Nobody else gets it for so long, from now; 0 gives it back at once."""
        ...

    async def delete(self, delivery: Delivery) -> None:
        """It is dealt with."""
        ...

    async def depth(self) -> Depth:
        """How much is in it."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
