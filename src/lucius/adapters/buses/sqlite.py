"""The SQLite bus: topics, subscriptions and peek-lock in one file that processes of one machine share.

State: as in the embedded bus, but every process that opens the file sees the same. A message is a row for
each subscription that takes it, or one row that waits for its first subscription. Receiving lends rows under
a lock; completing deletes them; abandoning, or a lock that runs out, puts them back behind their equals;
after `max_deliveries` a row moves to the dead letters, of which the newest `max_dead_letters` are kept. Rows
that are gone leave room for the next: the file is as large as its fullest hour, which `max_messages` bounds.

Whoever asks is noted in the file, at most every `note_seconds` while they go on asking or waiting; so to
another process a reader may seem to read that much longer than it does.

How it fails: what `publish` has answered survives kill and power cut. A power cut may undo the newest lends
and settlements: those messages come once more (see `sqlite_writer`). A file that another process keeps locked
for `patience` seconds, a full disk or a broken file is `Unavailable` (BUS_UNAVAILABLE), with nothing done;
the next call tries anew. More than `max_messages` is `Unavailable` (BUS_FULL). All processes must agree on
the time to well within a lock's length; they are on one machine, so they do. One event loop uses one
`SqliteBus`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from lucius.adapters.buses import sqlite_parcels as parcels
from lucius.adapters.buses.sqlite_boxes import Boxes, Tenants, mark
from lucius.adapters.buses.sqlite_file import open_writer
from lucius.adapters.buses.sqlite_reading import Reading
from lucius.adapters.buses.sqlite_transaction import Limits, Transaction
from lucius.adapters.buses.sqlite_watch import Place, Watch
from lucius.adapters.buses.sqlite_writer import Writer
from lucius.errors import Invalid, Unavailable
from lucius.ports.bus import BusCapabilities, DeadMessage, Delivery, Message, Settle, Subscription

_CAPABILITIES: Final = BusCapabilities(volatile=False, withdraws=True, knows_unread=True, max_batch=1000)
_LOOK_SECONDS: Final = 0.02


class SqliteBus:
    """A `Bus` on one file. `topics` are all the names it knows; `new_token` must never repeat, anywhere."""

    def __init__(
        self,
        path: Path | str,
        *,
        topics: Iterable[str],
        clock: Callable[[], int],
        new_token: Callable[[], str],
        lock_seconds: float = 60.0,
        max_deliveries: int = 10,
        max_messages: int = 1_000_000,
        max_dead_letters: int = 1_000,
        patience: float = 5.0,
        note_seconds: float = 1.0,
    ) -> None:
        self._topics = frozenset(topics)
        self._clock = clock
        self._new_token = new_token
        self._note = int(note_seconds * 1000)
        self._boxes = Boxes()
        self._noted: dict[Place, int] = {}
        self._closed = False
        limits = Limits(
            lock=int(lock_seconds * 1000),
            deliveries=max_deliveries,
            messages=max_messages,
            dead_letters=max_dead_letters,
        )
        connection = open_writer(Path(path))
        self._reading = Reading(Path(path))
        self._watch = Watch(self._reading, clock, every=_LOOK_SECONDS, on_tick=self._note_waiting)
        self._writer = Writer(
            Path(path),
            connection,
            begin=partial(Transaction, connection, self._boxes, limits, clock),
            changed=self._watch.look,
            failed=self._boxes.forget,
            patience=patience,
        )

    @property
    def capabilities(self) -> BusCapabilities:
        """Durable; can withdraw; knows what is unread."""
        return _CAPABILITIES

    async def declare(self, subscription: Subscription) -> None:
        """Create a subscription before its first `receive`; it takes what waited for one like it."""
        self._check_open()
        self._check_topics(subscription.topics)
        await self._writer.submit(lambda transaction: self._boxes.open(transaction, subscription))

    async def unclaimed(self) -> dict[str, int]:
        """Messages that no subscription takes, by subject."""
        self._check_open()
        return self._reading.unclaimed()

    async def publish(self, messages: Sequence[Message]) -> None:
        """Take all of these for good, or raise and take none."""
        self._check_open()
        if len(messages) > _CAPABILITIES.max_batch:
            raise Invalid(
                f"{len(messages)} messages in one call; at most {_CAPABILITIES.max_batch} are taken",
                code="BATCH_TOO_LARGE",
            )
        self._check_topics(message.topic for message in messages)
        if messages:
            taken = tuple(messages)
            await self._writer.submit(
                lambda transaction: parcels.put(transaction, taken), durable=True, weight=len(taken)
            )

    async def receive(
        self, subscription: Subscription, *, limit: int, wait: float, tenants: Tenants = None
    ) -> list[Delivery]:
        """Lend up to `limit` messages, waiting up to `wait` seconds for the first one."""
        self._check_open()
        if limit < 1:
            raise Invalid(f"receive wants at least 1 message, not {limit}", code="INVALID_LIMIT")
        self._check_topics(subscription.topics)
        until = None
        while not self._is_closed():
            box = self._boxes.find(subscription)
            if box is None or self._worth_asking((box, tenants)):
                box, deliveries = await self._lend(subscription, limit, tenants)
                if deliveries:
                    return deliveries
                if self._is_closed() or self._reading.waiting(box, tenants):
                    continue  # it came while we were being told of nothing
            moment = asyncio.get_running_loop().time()
            until = moment + wait if until is None else until
            if until <= moment or not await self._watch.wait((box, tenants), until - moment):
                return []
        return []

    async def settle(self, settlements: Sequence[Settle]) -> list[bool]:
        """Settle deliveries; False for each lock that was already lost or settled."""
        self._check_open()
        asked = tuple(settlements)
        return await self._writer.submit(
            lambda transaction: parcels.settle(transaction, asked), weight=len(asked)
        )

    async def renew(self, lock_tokens: Sequence[str]) -> list[int | None]:
        """Extend locks; the new `locked_until`, or None for a lock already lost."""
        self._check_open()
        asked = tuple(lock_tokens)
        return await self._writer.submit(
            lambda transaction: parcels.renew(transaction, asked), weight=len(asked)
        )

    async def withdraw(self, message_ids: Sequence[str]) -> None:
        """Forget these messages wherever they wait or are lent; their locks are lost."""
        self._check_open()
        asked = tuple(message_ids)
        await self._writer.submit(lambda transaction: parcels.withdraw(transaction, asked), weight=len(asked))

    async def unread(self, message_ids: Sequence[str], *, read_within: float | None = None) -> list[bool]:
        """True for each message that waits and was never lent.

        With `read_within`, only where somebody reads, in this process or another: a receiver that may see
        the message's tenant waits there now, or has asked within so many seconds.
        """
        self._check_open()
        if read_within is None:
            return self._reading.unread(message_ids, None)
        since = self._clock() - int(read_within * 1000) - self._note

        def is_read(box: int, tenant: str) -> bool:
            return self._watch.is_read(box, tenant) or self._reading.is_read(box, tenant, since)

        return self._reading.unread(message_ids, is_read)

    async def backlog(self) -> dict[str, int]:
        """Waiting messages by subscription name; see `unclaimed` for the others."""
        await self._take_back()
        return self._reading.backlog()

    async def dead_letters(self, *, limit: int = 100) -> list[DeadMessage]:
        """What could not be delivered, newest first."""
        await self._take_back()
        return self._reading.dead_letters(limit)

    async def close(self) -> None:
        """Wake every waiting receiver with nothing, finish what was asked, and refuse further work."""
        if self._closed:
            return
        self._closed = True
        self._watch.dismiss()
        await self._writer.finish()
        self._reading.close()
        self._writer.close()  # the last to let go tidies the file up, which a reader cannot

    def _worth_asking(self, place: Place) -> bool:
        """Whether a transaction would find, or has to note, anything."""
        return self._is_due() or self._to_note(place) or self._reading.waiting(*place) > 0

    async def _lend(
        self, subscription: Subscription, limit: int, tenants: Tenants
    ) -> tuple[int, list[Delivery]]:
        def do(transaction: Transaction) -> tuple[int, list[Delivery]]:
            box = self._boxes.open(transaction, subscription)
            if self._to_note((box, tenants)):
                mark(transaction, box, tenants)
            if self._closed:
                return box, []
            return box, parcels.lend(transaction, box, limit, tenants, self._new_token)

        asked_at = self._clock()
        answer = self._writer.submit(do, undo=self._undo, weight=limit)
        try:
            box, deliveries = await answer
        except asyncio.CancelledError:
            if not answer.cancelled() and answer.done() and answer.exception() is None:
                self._undo(answer.result())  # it was answered, and we were cancelled before we heard it
            raise
        if self._to_note((box, tenants)):
            self._noted[box, tenants] = asked_at
        return box, deliveries

    def _undo(self, lent: tuple[int, list[Delivery]]) -> None:
        """A receiver was cancelled while its messages were on their way: they go to the next one."""
        tokens = [delivery.lock_token for delivery in lent[1]]
        if tokens:
            self._writer.post(lambda transaction: parcels.unlend(transaction, tokens))

    def _to_note(self, place: Place) -> bool:
        noted = self._noted.get(place)
        return noted is None or not 0 <= self._clock() - noted < self._note

    def _note_waiting(self) -> None:
        """Whoever still waits still reads: say so to the other processes."""
        places = [place for place in self._watch.places() if self._to_note(place)]
        if not places or self._closed:
            return
        now = self._clock()
        for place in places:
            self._noted[place] = now  # if it fails, the next time is soon enough

        def do(transaction: Transaction) -> None:
            for place in places:
                mark(transaction, *place)

        self._writer.post(do)

    async def _take_back(self) -> None:
        """Locks that have run out count as run out, even if nobody has written since."""
        self._check_open()
        if self._is_due():
            await self._writer.submit(lambda _: None)

    def _is_due(self) -> bool:
        due = self._reading.due()
        return due is not None and due <= self._clock()

    def _check_topics(self, topics: Iterable[str]) -> None:
        for topic in topics:
            if topic not in self._topics:
                raise Invalid(
                    f"The bus has no topic {topic!r}; its topics are named when it is built",
                    code="UNKNOWN_TOPIC",
                )

    def _is_closed(self) -> bool:
        return self._closed  # asked again after every wait: a type checker would remember the first answer

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("The bus is closed", code="BUS_CLOSED")
