"""What the bus suites are given: a fresh bus, how it was built, and shorthand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count

from lucius.ports.bus import Bus, Delivery, Message, Settle, Settlement, Subscription

PATIENCE = 10.0
"""Seconds a receiver waits in tests that end by a message, never by this."""


@dataclass(slots=True, kw_only=True)
class BusHarness:
    """A fresh bus, what it was built with, and shorthand for the suite."""

    bus: Bus
    topics: tuple[str, ...]
    lock_seconds: float
    max_deliveries: int
    advance: Callable[[float], Awaitable[None]]
    ids: count[int]

    def message(self, tenant: str = "acme", *, topic: int = 0, subject: str = "OCR", **more: str) -> Message:
        """A message of its own id; `more` are its properties."""
        number = next(self.ids)
        body = f'{{"n":{number}}}'.encode()
        return Message(
            message_id=f"m-{number}",
            topic=self.topics[topic],
            subject=subject,
            tenant_id=tenant,
            body=body,
            properties=more,
        )

    def subscription(self, name: str = "ocr", subjects: tuple[str, ...] = ("OCR",)) -> Subscription:
        """A reader of all topics."""
        return Subscription(name=name, topics=self.topics, subjects=subjects)

    async def publish(self, *messages: Message) -> None:
        """Publish these in one call."""
        await self.bus.publish(messages)

    async def take(self, limit: int = 10, **more: frozenset[str]) -> list[Delivery]:
        """Receive what is there for the usual subscription, without waiting."""
        return await self.bus.receive(self.subscription(), limit=limit, wait=0, **more)

    async def settle(
        self, deliveries: Sequence[Delivery], outcome: Settlement, reason: str = ""
    ) -> list[bool]:
        """Settle all of these alike."""
        return await self.bus.settle(
            [Settle(lock_token=each.lock_token, outcome=outcome, reason=reason) for each in deliveries]
        )

    async def unread(self, *keys: str) -> list[bool]:
        """Which of these wait unread where somebody has asked for the length of a lock."""
        return await self.bus.unread(keys, read_within=self.lock_seconds)

    def listen(self, **more: frozenset[str]) -> asyncio.Task[list[Delivery]]:
        """A receiver that waits for one message."""
        return asyncio.create_task(self.bus.receive(self.subscription(), limit=1, wait=PATIENCE, **more))


def new_harness(
    bus: Bus,
    *,
    topics: tuple[str, ...],
    lock_seconds: float,
    max_deliveries: int,
    advance: Callable[[float], Awaitable[None]],
) -> BusHarness:
    """A harness for a fresh bus that knows at least two topics."""
    return BusHarness(
        bus=bus,
        topics=topics,
        lock_seconds=lock_seconds,
        max_deliveries=max_deliveries,
        advance=advance,
        ids=count(1),
    )


def ids(deliveries: Sequence[Delivery]) -> list[str]:
    """Which messages these are."""
    return [delivery.message.message_id for delivery in deliveries]


async def turn() -> None:
    """Let every task that can run do so."""
    for _ in range(5):
        await asyncio.sleep(0)  # noqa: TID251 - gives the loop away, waits for no time
