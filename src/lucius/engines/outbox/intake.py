"""Takes replies from the bus. A reply is settled only when its judgement is durable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.routing import reply_topics
from lucius.errors import Broken, Invalid
from lucius.ports.bus import Settle, Settlement, Subscription
from lucius.wire.messages import decode_reply
from lucius.wire.replies import command_of

if TYPE_CHECKING:
    from lucius.ports.bus import Bus, Delivery
    from lucius.ports.engine import Engine

REPLIES = Subscription(name="lucius", topics=reply_topics())


class Intake:
    """Reads all 16 reply topics."""

    def __init__(self, bus: Bus, engine: Engine, *, batch: int = 500, wait: float = 5.0) -> None:
        self._bus = bus
        self._engine = engine
        self._batch = batch
        self._wait = wait

    async def run(self) -> None:
        """Judge replies until cancelled. Several of these may run side by side."""
        while True:
            deliveries = await self._bus.receive(REPLIES, limit=self._batch, wait=self._wait)
            if deliveries:
                await self._judge(deliveries)

    async def _judge(self, deliveries: list[Delivery]) -> None:
        settlements, answers = [], []
        for delivery in deliveries:
            outcome, reason = Settlement.COMPLETE, ""
            try:
                reply = decode_reply(delivery.message.body)
                answers.append(self._engine.report(reply.tenant_id, reply.job_id, command_of(reply)))
            except (Invalid, Broken) as error:  # one reply that cannot be judged does not stop the others
                outcome, reason = Settlement.DEAD_LETTER, f"{error.code}: {error.message}"
            settlements.append(Settle(lock_token=delivery.lock_token, outcome=outcome, reason=reason))
        for answer in answers:
            await answer
        await self._bus.settle(settlements)
