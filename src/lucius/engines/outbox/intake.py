"""Takes replies from the bus. A reply is settled only when its judgement is durable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.routing import reply_topics
from lucius.errors import Broken, Invalid, Unavailable
from lucius.ports.bus import Settle, Settlement, Subscription
from lucius.wire.messages import decode_reply
from lucius.wire.replies import command_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.engines.outbox.engine import OutboxEngine
    from lucius.ports.bus import Bus, Delivery, Message
    from lucius.wire.messages import ReplyMessage

REPLIES = Subscription(name="lucius", topics=reply_topics())
PAUSE = 1.0
"""Seconds to wait for a bus that is away."""


class Intake:
    """Reads all 16 reply topics."""

    def __init__(
        self,
        bus: Bus,
        engine: OutboxEngine,
        *,
        sleep: Callable[[float], Awaitable[None]],
        batch: int = 500,
        wait: float = 5.0,
    ) -> None:
        self._bus = bus
        self._engine = engine
        self._sleep = sleep
        self._batch = batch
        self._wait = wait

    async def run(self) -> None:
        """Judge replies until cancelled. Several of these may run side by side."""
        while True:
            try:
                deliveries = await self._bus.receive(REPLIES, limit=self._batch, wait=self._wait)
                await self._judge(deliveries)
            except Unavailable:  # what was not settled comes again, and is then a duplicate
                await self._sleep(PAUSE)

    async def _judge(self, deliveries: list[Delivery]) -> None:
        settlements, answers = [], []
        for delivery in deliveries:
            outcome, reason = Settlement.COMPLETE, ""
            try:
                reply = _read(delivery.message)
                command = command_of(reply)
                answers.append((command, self._engine.judge(reply.tenant_id, reply.job_id, command)))
            except (Invalid, Broken) as error:  # one reply that cannot be judged does not stop the others
                outcome, reason = Settlement.DEAD_LETTER, f"{error.code}: {error.message}"
            settlements.append(Settle(lock_token=delivery.lock_token, outcome=outcome, reason=reason))
        for command, answer in answers:
            self._engine.heard(command, await answer)
        if settlements:
            await self._bus.settle(settlements)


def _read(message: Message) -> ReplyMessage:
    """The reply; what a sender says of itself must agree with what the broker knows of it."""
    reply = decode_reply(message.body)
    if reply.tenant_id != message.tenant_id:
        raise Invalid("The reply names another tenant than its sender.", code="FOREIGN_TENANT")
    return reply
