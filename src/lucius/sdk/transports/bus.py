"""The way to Lucius over a bus: subscriptions for directives, reply topics for replies.

State: a turn, so that of several step types none is always asked first. All receivers of a step type share
one subscription, `service.<STEP TYPE>`, the same that Lucius lends from over HTTP: services of both kinds
compete for the same directives.

A bus carries no answers: `Heard()` says nothing, and a lost lease shows when the next attempt arrives
elsewhere. Message ids are stable, so a bus that deduplicates takes a repeated RESULT once.

How it fails: `Unavailable` when the bus is away; nothing was lost, the caller tries again. A `receive` that
is cancelled gives back what it was lent. The bus belongs to whoever made it; `close` leaves it open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from lucius.core.routing import reply_topic_of
from lucius.core.routing import topics as directive_topics
from lucius.ports.bus import Bus, Delivery, Message, Settle, Settlement, Subscription
from lucius.sdk.serving.ports import Heard, Lent
from lucius.wire.messages import AckMessage, DirectiveMessage, HeartbeatMessage, ResultMessage, encode
from lucius.wire.timestamps import parse_iso

Reply = AckMessage | HeartbeatMessage | ResultMessage
PREFIX: Final = "service."
_SURPLUS: Final = "more arrived at once than were asked for, or nobody waited any more"
_SUBJECTS: Final[dict[type, str]] = {
    AckMessage: "ACK",
    HeartbeatMessage: "HEARTBEAT",
    ResultMessage: "RESULT",
}


class BusTransport:
    """A `Transport` over a bus. `topics` are those directives come on (None: one grid of them)."""

    def __init__(self, bus: Bus, *, topics: Sequence[str] | None = None, prefix: str = PREFIX) -> None:
        self._bus = bus
        self._topics = tuple(topics or directive_topics())
        self._prefix = prefix
        self._turn = 0

    async def receive(self, step_types: Sequence[str], *, limit: int, wait: float) -> list[Lent]:
        """Take up to `limit` directives, waiting up to `wait` seconds for the first one."""
        places = [self._subscription(step_type) for step_type in dict.fromkeys(step_types)]
        if len(places) == 1:
            found = await self._bus.receive(places[0], limit=limit, wait=wait)
        else:
            found = await self._sweep(places, limit)
            if not found and wait > 0 and places:
                found = await self._first_of(places, limit, wait)
        return [
            Lent(body=each.message.body, lock_token=each.lock_token, delivery_count=each.delivery_count)
            for each in found
        ]

    async def complete(self, lock_tokens: Sequence[str]) -> None:
        """Done with these. A lock that is lost by now is none of our business any more."""
        await self._settle(lock_tokens, Settlement.COMPLETE)

    async def abandon(self, lock_tokens: Sequence[str]) -> None:
        """Give these back for another receiver."""
        await self._settle(lock_tokens, Settlement.ABANDON)

    async def refuse(self, lock_token: str, reason: str) -> None:
        """Put one aside as a dead letter."""
        await self._settle([lock_token], Settlement.DEAD_LETTER, reason)

    async def renew(self, lock_tokens: Sequence[str]) -> list[bool]:
        """Keep these longer; False for each lock that is lost."""
        return [until is not None for until in await self._bus.renew(lock_tokens)]

    async def reply(self, directive: DirectiveMessage, reply: Reply) -> Heard:
        """Publish a reply where the directive's lane says."""
        await self._bus.publish([message_of(directive, reply)])
        return Heard()

    async def close(self) -> None:
        """Nothing to let go of."""

    def _subscription(self, step_type: str) -> Subscription:
        return Subscription(name=f"{self._prefix}{step_type}", topics=self._topics, subjects=(step_type,))

    async def _sweep(self, places: Sequence[Subscription], limit: int) -> list[Delivery]:
        """What waits right now: a share of every type first, then the rest, beginning in turn."""
        found: list[Delivery] = []
        turns = [places[(self._turn + number) % len(places)] for number in range(len(places))]
        self._turn += 1
        for share in (-(-limit // max(len(places), 1)), limit):
            for place in turns:
                if (most := min(share, limit - len(found))) > 0:
                    found += await self._bus.receive(place, limit=most, wait=0)
        return found

    async def _first_of(self, places: Sequence[Subscription], limit: int, wait: float) -> list[Delivery]:
        """Wait at every subscription at once; the others stop waiting when one has something."""
        tasks = [asyncio.ensure_future(self._bus.receive(place, limit=limit, wait=wait)) for place in places]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._give_back(_deliveries(await _ended(tasks)))
            raise
        ended = await _ended(tasks)
        found = _deliveries(ended)
        if not found and (errors := [one for one in ended if isinstance(one, Exception)]):
            raise errors[0]
        await self._give_back(found[limit:])
        return found[:limit]

    async def _give_back(self, deliveries: Sequence[Delivery]) -> None:
        await self._settle([each.lock_token for each in deliveries], Settlement.ABANDON, _SURPLUS)

    async def _settle(self, lock_tokens: Sequence[str], outcome: Settlement, reason: str = "") -> None:
        if lock_tokens:
            await self._bus.settle(
                [Settle(lock_token=token, outcome=outcome, reason=reason) for token in lock_tokens]
            )


def message_of(directive: DirectiveMessage, reply: Reply) -> Message:
    """A reply for the bus. The same ACK or RESULT again is the same message; each heartbeat is its own."""
    subject = _SUBJECTS[type(reply)]
    names = [directive.job_id, directive.step_id, directive.lease_id, subject]
    if isinstance(reply, HeartbeatMessage):
        names.append(str(parse_iso(reply.timestamp)))
    return Message(
        message_id=".".join(names),
        topic=reply_topic_of(directive.lane),
        subject=subject,
        tenant_id=directive.tenant_id,
        body=encode(reply),
    )


Ended = list[Delivery] | BaseException


async def _ended(tasks: Iterable[asyncio.Future[list[Delivery]]]) -> list[Ended]:
    """Stop the tasks; what each came to."""
    waiting = list(tasks)
    for task in waiting:
        task.cancel()
    return list(await asyncio.gather(*waiting, return_exceptions=True))


def _deliveries(ended: Iterable[Ended]) -> list[Delivery]:
    return [delivery for one in ended if isinstance(one, list) for delivery in one]
