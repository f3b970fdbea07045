"""The embedded bus: topics, subscriptions and peek-lock in the memory of one process.

State: a message waits in the mailbox of every subscription that takes it, or, while no subscription
does, among the unclaimed, where the first one that fits finds it. Receiving lends it under a lock;
completing forgets it; abandoning, or a lock that runs out, puts it back behind the others of its
tenant; after `max_deliveries` it becomes a dead letter (the newest `max_dead_letters` are kept).

How it fails: it is volatile, a restart forgets everything, so whoever published must publish again.
It holds at most `max_messages`; beyond them `publish` raises `Unavailable` (BUS_FULL) and takes none.
One event loop uses it; no operation but a waiting `receive` ever gives that loop away.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Final

from lucius.adapters.buses.exchange import Exchange
from lucius.adapters.buses.locks import LockTable
from lucius.adapters.buses.mailbox import Mailbox, Parcel, Tenants
from lucius.errors import Invalid, Unavailable
from lucius.ports.bus import BusCapabilities, DeadMessage, Delivery, Message, Settle, Settlement, Subscription

_CAPABILITIES: Final = BusCapabilities(volatile=True, withdraws=True, knows_unread=True, max_batch=4096)
_TOO_OFTEN: Final = "delivered too often"


def counting_tokens() -> Callable[[], str]:
    """Lock tokens 1, 2, 3 …: fine while no token leaves the process; pass random ones where they do."""
    numbers = count(1)
    return lambda: str(next(numbers))


class EmbeddedBus:
    """A `Bus` in memory. `topics` are all the names it knows; `subscriptions` exist from the start."""

    def __init__(
        self,
        *,
        topics: Iterable[str],
        clock: Callable[[], int],
        lock_seconds: float = 60.0,
        max_deliveries: int = 10,
        max_messages: int = 1_000_000,
        max_dead_letters: int = 1_000,
        subscriptions: Iterable[Subscription] = (),
        new_token: Callable[[], str] | None = None,
    ) -> None:
        self._exchange = Exchange(topics)
        self._clock = clock
        self._lock = int(lock_seconds * 1000)
        self._max_deliveries = max_deliveries
        self._max_messages = max_messages
        self._locks = LockTable(length=self._lock, new_token=new_token or counting_tokens())
        self._dead: deque[DeadMessage] = deque(maxlen=max_dead_letters)
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        for subscription in subscriptions:
            self.declare(subscription)

    @property
    def capabilities(self) -> BusCapabilities:
        """Volatile; can withdraw; knows what is unread."""
        return _CAPABILITIES

    def declare(self, subscription: Subscription) -> None:
        """Create a subscription before its first `receive`; it takes what waited for one like it."""
        self._exchange.mailbox(subscription)

    def unclaimed(self) -> dict[str, int]:
        """Messages that no subscription takes, by subject."""
        return self._exchange.unclaimed()

    async def publish(self, messages: Sequence[Message]) -> None:
        """Take all of these, or raise and take none."""
        self._check_open()
        if len(messages) > _CAPABILITIES.max_batch:
            raise Invalid(
                f"{len(messages)} messages in one call; at most {_CAPABILITIES.max_batch} are taken",
                code="BATCH_TOO_LARGE",
            )
        targets = self._exchange.targets(messages)
        self._check_room(sum(map(len, targets)) + targets.count(()))
        touched: dict[Mailbox, None] = {}
        for message, mailboxes in zip(messages, targets, strict=True):
            for mailbox in mailboxes:
                if mailbox.put(message):
                    touched[mailbox] = None
            if not mailboxes:
                self._exchange.keep(message)
        for mailbox in touched:
            mailbox.wake()

    async def receive(
        self, subscription: Subscription, *, limit: int, wait: float, tenants: Tenants = None
    ) -> list[Delivery]:
        """Lend up to `limit` messages, waiting up to `wait` seconds for the first one."""
        self._check_open()
        if limit < 1:
            raise Invalid(f"receive wants at least 1 message, not {limit}", code="INVALID_LIMIT")
        mailbox = self._exchange.mailbox(subscription)
        until = None
        while not self._closed:
            now = self._sweep()
            mailbox.read_at(now, tenants, self._lock)
            taken = mailbox.waiting.take(limit, tenants)
            if taken:
                deliveries = self._locks.lend(taken, now)
                self._watch()
                mailbox.wake()  # what is left may be for somebody who waits
                return deliveries
            moment = asyncio.get_running_loop().time()
            until = moment + wait if until is None else until
            if until <= moment or not await mailbox.wait(until - moment, tenants):
                mailbox.read_at(self._clock(), tenants, self._lock)
                return []
        return []

    async def settle(self, settlements: Sequence[Settle]) -> list[bool]:
        """Settle deliveries; False for each lock that was already lost or settled."""
        self._check_open()
        now = self._sweep()
        release = self._locks.release
        answers = []
        for settlement in settlements:
            parcel = release(settlement.lock_token)
            answers.append(parcel is not None)
            if parcel is None:
                continue
            if settlement.outcome is Settlement.COMPLETE:
                del parcel.mailbox.lent[parcel.message.message_id]
            elif settlement.outcome is Settlement.ABANDON:
                self._give_back(parcel, now, settlement.reason)
            else:
                self._bury(parcel, now, settlement.reason)
        return answers

    async def renew(self, lock_tokens: Sequence[str]) -> list[int | None]:
        """Extend locks; the new `locked_until`, or None for a lock already lost."""
        self._check_open()
        now = self._sweep()
        return [self._locks.renew(token, now) for token in lock_tokens]

    async def withdraw(self, message_ids: Sequence[str]) -> None:
        """Forget these messages wherever they wait or are lent; their locks are lost."""
        self._check_open()
        for message_id in message_ids:
            self._exchange.forget(message_id)

    async def unread(self, message_ids: Sequence[str], *, read_within: float | None = None) -> list[bool]:
        """True for each message that waits and was never lent.

        With `read_within`, only where somebody reads: a receiver that may see the message's tenant waits
        there now, or has asked within so many seconds. Otherwise it is not unread but stranded.
        """
        now = self._sweep()
        boxes = self._exchange.mailboxes()
        window = None if read_within is None else int(read_within * 1000)
        return [
            any(self._unread_in(box, key, now, window) for box in boxes)
            or (window is None and self._exchange.keeps(key))
            for key in message_ids
        ]

    async def backlog(self) -> dict[str, int]:
        """Waiting messages by subscription name; see `unclaimed` for the others."""
        self._sweep()
        return {box.subscription.name: len(box.waiting) for box in self._exchange.mailboxes()}

    async def dead_letters(self, *, limit: int = 100) -> list[DeadMessage]:
        """What could not be delivered, newest first."""
        self._sweep()
        return [self._dead[-index] for index in range(1, min(limit, len(self._dead)) + 1)]

    async def close(self) -> None:
        """Wake every waiting receiver with nothing and refuse further work."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for mailbox in self._exchange.mailboxes():
            mailbox.dismiss()

    def expire_locks(self) -> None:
        """Do now what the timer does when the next lock runs out."""
        self._timer = None
        if not self._closed:
            self._sweep()
            self._watch()

    def _sweep(self) -> int:
        """Take back what has run out by now; the time."""
        now = self._clock()
        if now >= self._locks.due:
            for parcel in self._locks.expire(now):
                self._give_back(parcel, now, "lock lost")
        return now

    def _watch(self) -> None:
        """Keep one timer on the earliest lock: its end must wake who waits."""
        if self._timer is None and self._locks:
            delay = max(self._locks.due - self._clock(), 1) / 1000
            self._timer = asyncio.get_running_loop().call_later(delay, self.expire_locks)

    def _give_back(self, parcel: Parcel, now: int, reason: str) -> None:
        if parcel.deliveries >= self._max_deliveries:
            self._bury(parcel, now, f"{_TOO_OFTEN} ({reason})" if reason else _TOO_OFTEN)
        else:
            parcel.mailbox.take_back(parcel)
            parcel.mailbox.wake()

    def _bury(self, parcel: Parcel, now: int, reason: str) -> None:
        del parcel.mailbox.lent[parcel.message.message_id]
        self._dead.append(
            DeadMessage(
                message=parcel.message,
                subscription=parcel.mailbox.subscription.name,
                reason=reason,
                delivery_count=parcel.deliveries,
                dead_at=now,
            )
        )

    def _unread_in(self, mailbox: Mailbox, key: str, now: int, window: int | None) -> bool:
        parcel = mailbox.waiting.get(key)
        if parcel is None or parcel.deliveries:
            return False
        return window is None or mailbox.is_read(parcel.message.tenant_id, now, window)

    def _check_room(self, needed: int) -> None:
        held = len(self._exchange)
        if held + needed > self._max_messages:
            raise Unavailable(
                f"The bus holds {held} unsettled messages and {needed} more do not fit; try again later",
                code="BUS_FULL",
            )

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("The bus is closed", code="BUS_CLOSED")
