"""Telemetry round a port: adapters hold none of their own.

Jobs need no wrapper, their numbers come from committed events (see `telemetry.observer`). What no
event tells is the traffic on the bus, so this counts it. Nothing is added to or kept from a call:
the answer, and every error, is the inner one's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lucius.ports.bus import (
        Bus,
        BusCapabilities,
        DeadMessage,
        Delivery,
        Message,
        Settle,
        Subscription,
    )

    Observe = Callable[[str, str, int], None]


class ObservedBus:
    """Any bus, with `observe(call, outcome, messages)` told after each call that moves messages."""

    def __init__(self, inner: Bus, observe: Observe) -> None:
        self._inner = inner
        self._observe = observe

    @property
    def capabilities(self) -> BusCapabilities:
        """What the inner bus can do."""
        return self._inner.capabilities

    async def publish(self, messages: Sequence[Message]) -> None:
        """As the inner bus; counts messages taken or refused."""
        try:
            await self._inner.publish(messages)
        except Exception:
            self._observe("publish", "failed", len(messages))
            raise
        self._observe("publish", "ok", len(messages))

    async def receive(
        self, subscription: Subscription, *, limit: int, wait: float, tenants: frozenset[str] | None = None
    ) -> list[Delivery]:
        """As the inner bus; counts first deliveries and repeated ones apart."""
        deliveries = await self._inner.receive(subscription, limit=limit, wait=wait, tenants=tenants)
        again = sum(delivery.delivery_count > 1 for delivery in deliveries)
        if len(deliveries) > again:
            self._observe("receive", "ok", len(deliveries) - again)
        if again:
            self._observe("receive", "redelivered", again)
        return deliveries

    async def settle(self, settlements: Sequence[Settle]) -> list[bool]:
        """As the inner bus; counts locks that were already lost apart."""
        settled = await self._inner.settle(settlements)
        lost = settled.count(False)
        if len(settled) > lost:
            self._observe("settle", "ok", len(settled) - lost)
        if lost:
            self._observe("settle", "lock_lost", lost)
        return settled

    async def renew(self, lock_tokens: Sequence[str]) -> list[int | None]:
        """As the inner bus."""
        return await self._inner.renew(lock_tokens)

    async def withdraw(self, message_ids: Sequence[str]) -> None:
        """As the inner bus."""
        await self._inner.withdraw(message_ids)

    async def unread(self, message_ids: Sequence[str], *, read_within: float | None = None) -> list[bool]:
        """As the inner bus."""
        return await self._inner.unread(message_ids, read_within=read_within)

    async def backlog(self) -> dict[str, int]:
        """As the inner bus."""
        return await self._inner.backlog()

    async def dead_letters(self, *, limit: int = 100) -> list[DeadMessage]:
        """As the inner bus."""
        return await self._inner.dead_letters(limit=limit)

    async def close(self) -> None:
        """As the inner bus."""
        await self._inner.close()
