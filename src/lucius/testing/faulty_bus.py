"""A bus that can be cut off, that can refuse, and that remembers what was asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lucius.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from lucius.ports.bus import Bus, BusCapabilities, DeadMessage, Delivery, Message, Settle, Subscription


class FaultyBus:
    """Any bus, with faults in front of it."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.away = False
        self.poison: set[str] = set()
        """Subjects that this bus refuses for good."""
        self.tries: list[int] = []
        """How many messages each publishing offered, taken or not."""
        self.taken: list[Message] = []

    @property
    def capabilities(self) -> BusCapabilities:
        """Those of the bus behind."""
        return self.bus.capabilities

    async def publish(self, messages: Sequence[Message]) -> None:
        """Take them, unless cut off or poisoned."""
        self.tries.append(len(messages))
        if self.away:
            raise Unavailable("The bus is away", code="BUS_AWAY")
        bad = [message.message_id for message in messages if message.subject in self.poison]
        if bad:
            raise Invalid(f"{bad} will never be taken", code="MESSAGE_REFUSED")
        await self.bus.publish(messages)
        self.taken += messages

    async def receive(
        self, subscription: Subscription, *, limit: int, wait: float, tenants: frozenset[str] | None = None
    ) -> list[Delivery]:
        """As the bus behind."""
        return await self.bus.receive(subscription, limit=limit, wait=wait, tenants=tenants)

    async def settle(self, settlements: Sequence[Settle]) -> list[bool]:
        """As the bus behind."""
        return await self.bus.settle(settlements)

    async def renew(self, lock_tokens: Sequence[str]) -> list[int | None]:
        """As the bus behind."""
        return await self.bus.renew(lock_tokens)

    async def withdraw(self, message_ids: Sequence[str]) -> None:
        """As the bus behind."""
        await self.bus.withdraw(message_ids)

    async def unread(self, message_ids: Sequence[str], *, read_within: float | None = None) -> list[bool]:
        """As the bus behind."""
        return await self.bus.unread(message_ids, read_within=read_within)

    async def backlog(self) -> dict[str, int]:
        """As the bus behind."""
        return await self.bus.backlog()

    async def dead_letters(self, *, limit: int = 100) -> list[DeadMessage]:
        """As the bus behind."""
        return await self.bus.dead_letters(limit=limit)

    async def close(self) -> None:
        """As the bus behind."""
        await self.bus.close()

    def bodies(self, job_id: str) -> list[bytes]:
        """Every directive of a job that went out, in order."""
        return [message.body for message in self.taken if message.properties.get("job_id") == job_id]

    def jobs(self) -> list[Any]:
        """Which jobs went out, in order."""
        return [message.properties["job_id"] for message in self.taken if "job_id" in message.properties]
