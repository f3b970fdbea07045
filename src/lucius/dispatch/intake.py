"""Takes replies from the bus. A reply is settled only when its judgement is durable."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lucius.core.routing import reply_topics
from lucius.errors import Broken, Invalid, Unavailable
from lucius.ports.bus import Settle, Settlement, Subscription
from lucius.wire.messages import decode_reply
from lucius.wire.replies import command_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.core.commands import Reply
    from lucius.ports.bus import Bus, Delivery, Message
    from lucius.wire.messages import ReplyMessage

    Judge = Callable[[str, str, Reply], Awaitable[object]]

REPLIES = Subscription(name="lucius", topics=reply_topics())
PAUSE = 1.0
"""Seconds to wait for a bus that is away."""


class Intake:
    """Reads all 16 reply topics."""

    def __init__(
        self,
        bus: Bus,
        report: Judge,
        *,
        sleep: Callable[[float], Awaitable[None]],
        batch: int = 500,
        wait: float = 5.0,
        subscription: Subscription = REPLIES,
        hindered: Callable[[], None] = lambda: None,
    ) -> None:
        """`report` is called for a whole batch before the first of its answers is awaited.

        `hindered` is told whenever replies cannot be taken: the bus is away, or whoever judges is.
        """
        self._bus = bus
        self._report = report
        self._subscription = subscription
        self._hindered = hindered
        self._sleep = sleep
        self._batch = batch
        self._wait = wait
        self._stopping = False
        self.busy = False
        """Whether replies were read and are not settled yet: not a moment to be cancelled."""

    async def run(self) -> None:
        """Judge replies until stopped or cancelled. Several of these may run side by side."""
        while not self._stopping:
            try:
                deliveries = await self._bus.receive(self._subscription, limit=self._batch, wait=self._wait)
                self.busy = True
                await self._judge(deliveries)
            except Unavailable:  # what was not settled comes again, and is then a duplicate
                self._hindered()
                self.busy = False
                await self._sleep(PAUSE)
            finally:
                self.busy = False

    def stop(self) -> None:
        """Read nothing more; whoever waits for something to read may be cancelled."""
        self._stopping = True

    async def _judge(self, deliveries: list[Delivery]) -> None:
        settlements, judged = [], []
        for delivery in deliveries:
            try:
                reply = _read(delivery.message)
                answer = self._report(reply.tenant_id, reply.job_id, command_of(reply))
            except (Invalid, Broken) as error:  # one reply that cannot be judged does not stop the others
                settlements.append(_aside(delivery, error))
            else:
                judged.append((delivery, answer))
        answers = await asyncio.gather(*(answer for _, answer in judged), return_exceptions=True)
        failures: list[BaseException] = []
        for (delivery, _), found in zip(judged, answers, strict=True):
            if isinstance(found, (Invalid, Broken)):
                settlements.append(_aside(delivery, found))
            elif isinstance(found, BaseException):
                failures.append(found)
            else:
                settlements.append(Settle(lock_token=delivery.lock_token, outcome=Settlement.COMPLETE))
        if settlements:
            await self._bus.settle(settlements)
        for failure in failures:  # unsettled, so it comes again
            raise failure


def _aside(delivery: Delivery, error: Invalid | Broken) -> Settle:
    reason = f"{error.code}: {error.message}"
    return Settle(lock_token=delivery.lock_token, outcome=Settlement.DEAD_LETTER, reason=reason)


def _read(message: Message) -> ReplyMessage:
    """The reply; what a sender says of itself must agree with what the broker knows of it."""
    reply = decode_reply(message.body)
    if reply.tenant_id != message.tenant_id:
        raise Invalid("The reply names another tenant than its sender.", code="FOREIGN_TENANT")
    return reply
