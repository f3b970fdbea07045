"""One subscription of the embedded bus: what waits in it, what is lent from it, who listens.

A parcel is in exactly one place: waiting here, lent here (and in the lock table), or gone.

Waking: a publisher wakes the first receiver that may see something of what waits, and no other.
Whoever stops waiting, served or cancelled, calls `wake` again, so a wake-up is handed on and
never lost. A receiver looks before it waits, with no `await` in between.
"""

from __future__ import annotations

import asyncio
from typing import Final

from lucius.core.fairness import FairQueue
from lucius.ports.bus import Message, Subscription

_LONGEST_WAIT: Final = 3600.0
_READERS_KEPT: Final = 64

Tenants = frozenset[str] | None


class Parcel:
    """One message on its way to one subscription."""

    __slots__ = ("deliveries", "locked_until", "mailbox", "message")

    def __init__(self, message: Message, mailbox: Mailbox) -> None:
        self.message = message
        self.mailbox = mailbox
        self.deliveries = 0
        self.locked_until = 0


class Waiter:
    """A receiver that found nothing and waits for a tenant it may see, until it runs again."""

    __slots__ = ("future", "tenants")

    def __init__(self, future: asyncio.Future[bool], tenants: Tenants) -> None:
        self.future = future
        self.tenants = tenants


class Mailbox:
    """The state of one subscription."""

    __slots__ = ("_readers", "_waiters", "lent", "subscription", "waiting")

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.waiting: FairQueue[Parcel] = FairQueue()
        self.lent: dict[str, Parcel] = {}
        self._waiters: dict[Waiter, None] = {}
        self._readers: dict[Tenants, int] = {}

    def __len__(self) -> int:
        return len(self.waiting) + len(self.lent)

    def put(self, message: Message) -> bool:
        """Take a message in; False if it already waits or is lent."""
        key = message.message_id
        if key in self.lent:
            return False
        parcel = Parcel(message, self)
        return self.waiting.push(message.tenant_id, key, parcel, priority=priority_of(message))

    def take_back(self, parcel: Parcel) -> None:
        """A parcel that was lent waits again, behind the others of its tenant."""
        message = parcel.message
        self.lent.pop(message.message_id, None)
        self.waiting.push(message.tenant_id, message.message_id, parcel, priority=priority_of(message))

    def read_at(self, now: int, tenants: Tenants, window: int) -> None:
        """Somebody who may see these tenants reads here."""
        self._readers[tenants] = now
        if len(self._readers) > _READERS_KEPT:
            fresh = {who: at for who, at in self._readers.items() if now - at <= window}
            self._readers = fresh

    def is_read(self, tenant: str, now: int, window: int) -> bool:
        """Whether somebody who may see this tenant waits here, or asked within the window."""
        if any(waiter.tenants is None or tenant in waiter.tenants for waiter in self._waiters):
            return True
        return any(
            now - at <= window and (tenants is None or tenant in tenants)
            for tenants, at in self._readers.items()
        )

    async def wait(self, seconds: float, tenants: Tenants) -> bool:
        """Wait for something these tenants sent; False when the time is over or the bus closes."""
        loop = asyncio.get_running_loop()
        waiter = Waiter(loop.create_future(), tenants)
        self._waiters[waiter] = None
        timer = loop.call_later(min(seconds, _LONGEST_WAIT), self._send_away, waiter)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            self.wake()  # the wake-up may have been ours: hand it on
            raise
        finally:
            timer.cancel()
            del self._waiters[waiter]

    def wake(self) -> None:
        """Wake the first receiver that would find something."""
        if not self._waiters or not self.waiting:
            return
        for waiter in self._waiters:
            if not waiter.future.done() and self.waiting.serves(waiter.tenants):
                waiter.future.set_result(True)
                return

    def dismiss(self) -> None:
        """Send every waiting receiver away with nothing."""
        for waiter in self._waiters:
            self._send_away(waiter)

    def _send_away(self, waiter: Waiter) -> None:
        if not waiter.future.done():
            waiter.future.set_result(False)


def priority_of(message: Message) -> int:
    """The `priority` property; what is no number counts as 0, for one odd message must not stop a batch."""
    if not message.properties:
        return 0
    try:
        return int(message.properties.get("priority", 0))
    except ValueError:
        return 0
