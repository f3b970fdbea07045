"""The embedded bus, with what brokers do to messages: late, twice, out of order, refused, gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.core.routing import reply_topics, topics
from lucius.errors import Unavailable
from lucius.testing.simulation.loop import nap
from lucius.wire.messages import decode_directive, decode_reply

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from lucius.ports.bus import Message, Settle
    from lucius.testing.simulation.plan import Plan
    from lucius.testing.simulation.watch import Watch

_REPLIES = frozenset(reply_topics())


class FlakyBus(EmbeddedBus):
    """Takes messages and keeps most of them."""

    def __init__(
        self, plan: Plan, watch: Watch, loop: asyncio.AbstractEventLoop, clock: Callable[[], int]
    ) -> None:
        super().__init__(topics=(*topics(), *reply_topics()), clock=clock, lock_seconds=5.0)
        self._plan = plan
        self._promises = watch
        self._loop = loop

    async def publish(self, messages: Sequence[Message]) -> None:
        """Take these, lose some, delay some, double some; or refuse all."""
        plan = self._plan
        directives = [message for message in messages if message.topic not in _REPLIES]
        self._promises.publishing(directives)
        away = plan.away(self._loop.time())
        await nap(plan.latency())
        if away or plan.away(self._loop.time()):
            raise Unavailable("the broker is away", code="BUS_AWAY")
        self._promises.published(directives)
        now = [message for message in messages if self._keeps(message)]
        await super().publish(now)
        if directives and plan.chance(plan.message_faults / 4):
            raise Unavailable("the broker took it, and the answer was lost", code="BUS_AWAY")

    async def settle(self, settlements: Sequence[Settle]) -> list[bool]:
        """Settle, unless the settling is lost: then the lock runs out and all comes again."""
        if self._plan.chance(self._plan.message_faults / 4):
            return [False] * len(settlements)
        return await super().settle(settlements)

    def die(self) -> None:
        """The process is gone: who waits is sent away."""
        self._closed = True
        for mailbox in self._exchange.mailboxes():
            mailbox.dismiss()

    def _keeps(self, message: Message) -> bool:
        """Whether a message arrives now; it may arrive later, again, or never."""
        plan = self._plan
        if not plan.chance(plan.message_faults):
            return True
        job_id, step_id = _subject_of(message)
        fate = plan.random.choice(("later", "again", "later", "again", "never"))
        if fate == "never":
            return not plan.fault(job_id, step_id, 1.0)
        # Bounded: what is late by more than the ACK timeout costs an attempt.
        costs = fate == "later" and plan.fault(job_id, step_id, 0.3)
        wait = plan.random.uniform(0.01, 4.0 if costs or fate == "again" else 0.3)
        self._loop.call_later(wait, self._arrive, message)
        return fate == "again"

    def _arrive(self, message: Message) -> None:
        if self._closed:
            return
        mailboxes = self._exchange.targets([message])[0]
        for mailbox in mailboxes:
            if mailbox.put(message):
                mailbox.wake()
        if not mailboxes:
            self._exchange.keep(message)


def _subject_of(message: Message) -> tuple[str, str]:
    if message.topic in _REPLIES:
        reply = decode_reply(message.body)
        return reply.job_id, reply.step_id
    directive = decode_directive(message.body)
    return directive.job_id, directive.step_id
