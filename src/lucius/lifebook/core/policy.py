"""Every length of time a decision uses, in milliseconds unless it says otherwise; how often is too often."""

from __future__ import annotations

import msgspec

#: The contract's suggestion: after the first failure, the second, the third, and all further ones.
BACKOFF_SECONDS = (30.0, 120.0, 600.0, 1800.0)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How patient we are."""

    backoff: tuple[int, ...] = tuple(round(seconds * 1000) for seconds in BACKOFF_SECONDS)
    jitter: float = 0.2
    """Each wait is moved by up to this share of it, in both directions."""
    lease: int = 60_000
    """How long a lock lasts without a heartbeat."""
    retention_seconds: int = 30 * 86_400
    """How long a record stays after its run has ended."""
    poison_after: int = 3
    """Workers that may be lost in one step before the run is taken for the cause."""
    send_patience: int = 30_000
    """How long a record may wait for its first message to be sent."""
    queue_patience: int = 3_600_000
    """How long a message may wait in the queue before it counts as lost."""
    lock_patience: int = 60_000
    """How long after the end of a lock, or of a backoff, its message may take to come back."""

    outage: tuple[int, ...] = (5_000, 20_000, 60_000, 300_000, 1_800_000)
    """How long a message is put off at least while the store is away, by its receives. They are few: with
    waits as short as a backoff may be, runs would be dead that nobody ever tried."""

    def put_off(self, receives: int) -> int:
        """How long a message that was received so often waits for the store to come back."""
        least = self.outage[min(max(receives, 1), len(self.outage)) - 1] if self.outage else 0
        return max(least, self.wait(receives, 0.5))

    def wait(self, failures: int, spread: float) -> int:
        """How long to wait after so many failures; `spread` in [0, 1)."""
        base = self.backoff[min(max(failures, 1), len(self.backoff)) - 1] if self.backoff else 0
        return max(0, round(base * (1 + self.jitter * (2 * spread - 1))))
