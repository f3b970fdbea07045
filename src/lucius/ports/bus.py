"""The bus: topics in, peek-locked deliveries out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from lucius.core.names import Name, quick


class BusCapabilities(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a bus can and cannot do."""

    volatile: bool
    """A restart forgets every message: whoever published must publish again."""
    withdraws: bool
    """`withdraw` takes unread messages back."""
    knows_unread: bool
    """`unread` tells whether a message still waits for its first reader."""
    max_batch: int


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes with the properties brokers route by."""

    message_id: str
    """Stable over republishing; brokers that deduplicate use it."""
    topic: str
    subject: str
    """The step type of a directive; ACK, RESULT or HEARTBEAT for a reply."""
    tenant_id: str
    body: bytes
    properties: dict[str, str] = {}
    """`priority`, a number, orders one tenant's messages where the bus can: the highest first."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message lent to one receiver until it is settled or its lock runs out."""

    message: Message
    lock_token: str
    locked_until: int
    delivery_count: int


@quick
class Settlement(Name):
    """How a receiver gives a delivery back."""

    COMPLETE = "complete"
    ABANDON = "abandon"
    DEAD_LETTER = "dead_letter"


class Settle(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One settlement: which lock, how, and why."""

    lock_token: str
    outcome: Settlement
    reason: str = ""


class Subscription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A named reader of some topics that takes only some subjects (empty: all)."""

    name: str
    topics: tuple[str, ...]
    subjects: tuple[str, ...] = ()


class DeadMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message nobody could settle."""

    message: Message
    subscription: str
    reason: str
    delivery_count: int
    dead_at: int


class Bus(Protocol):
    """A broker with topics, subscriptions and peek-lock.

    Every subscription sees every message of its topics and subjects once it exists; a message
    published before its first subscription exists is kept for it. Between tenants delivery is
    fair: a tenant with many waiting messages does not hold up one with few.
    """

    @property
    def capabilities(self) -> BusCapabilities:
        """What this bus can do."""
        ...

    async def publish(self, messages: Sequence[Message]) -> None:
        """Take all of these, or raise `Unavailable` and take none. The same id again is one message."""
        ...

    async def receive(
        self, subscription: Subscription, *, limit: int, wait: float, tenants: frozenset[str] | None = None
    ) -> list[Delivery]:
        """Lend up to `limit` messages, waiting up to `wait` seconds for the first one.

        `tenants` narrows what this receiver may see (None: all).
        """
        ...

    async def settle(self, settlements: Sequence[Settle]) -> list[bool]:
        """Settle deliveries; False for each lock that was already lost or settled."""
        ...

    async def renew(self, lock_tokens: Sequence[str]) -> list[int | None]:
        """Extend locks; the new `locked_until`, or None for a lock already lost."""
        ...

    async def withdraw(self, message_ids: Sequence[str]) -> None:
        """Forget these messages wherever they wait or are lent (needs `withdraws`)."""
        ...

    async def unread(self, message_ids: Sequence[str], *, read_within: float | None = None) -> list[bool]:
        """True for each message that still waits for its first reader (needs `knows_unread`).

        With `read_within`: only if somebody who may have it waits there, or has asked there within so
        many seconds.
        """
        ...

    async def backlog(self) -> dict[str, int]:
        """Waiting messages by subscription name."""
        ...

    async def dead_letters(self, *, limit: int = 100) -> list[DeadMessage]:
        """What could not be delivered, newest first."""
        ...

    async def close(self) -> None:
        """Wake every waiting receiver with nothing and refuse further work."""
        ...
