"""A platform service that does nothing, for demos, tests and measurements.

It takes directives in batches, acknowledges them, waits as long as it was told and reports. A batch
without delay costs one publish and one settle; a delayed directive gets a task of its own, sends a
HEARTBEAT at every third of its lease, and reports when it is over.

How it fails: a directive is settled once its ACK is out; from then on the lease guards the work. An
unreadable directive becomes a dead letter. A bus that is away is tried again; a bus that is closed
ends the service. `stop` takes nothing new and lets the running work finish.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from lucius.core.routing import topics as directive_topics
from lucius.errors import Invalid, Unavailable
from lucius.ports.bus import Bus, Delivery, Message, Settle, Settlement, Subscription
from lucius.services.echo_replies import ack, heartbeat, result
from lucius.services.echo_wishes import Outcome, wish_of
from lucius.wire.messages import DirectiveMessage, decode_directive
from lucius.wire.timestamps import iso, parse_iso

_USUAL_LEASE_MS: Final = 15 * 60_000
_SHORTEST_BEAT_MS: Final = 50
_PAUSE: Final = 1.0
_FOREVER: Final = 3600.0


class EchoService:
    """Serves `step_types` (None: all) of every directive topic. `delay` is in seconds."""

    def __init__(
        self,
        bus: Bus,
        *,
        clock: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
        step_types: Sequence[str] | None = None,
        delay: float = 0.0,
        failure_rate: float = 0.0,
        concurrency: int = 10_000,
        batch: int = 256,
        name: str = "echo",
        topics: Sequence[str] | None = None,
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._delay_ms = int(delay * 1000)
        self._failure_rate = failure_rate
        self._concurrency = concurrency
        self._batch = batch
        self._running = 0
        self._freed = asyncio.Event()
        self._stopping = False
        self._listening: asyncio.Timeout | None = None
        self.subscription = Subscription(
            name=name, topics=tuple(topics or directive_topics()), subjects=tuple(step_types or ())
        )

    async def run(self) -> None:
        """Serve until stopped, then finish what runs."""
        async with asyncio.TaskGroup() as group:
            while not self._stopping:
                free = self._concurrency - self._running
                if free < 1:
                    self._freed.clear()
                    await self._freed.wait()
                elif deliveries := await self._receive(min(free, self._batch)):
                    await self._serve(deliveries, group)

    def stop(self) -> None:
        """Take nothing new; `run` returns when the running work is done."""
        if self._listening is not None and not self._stopping:
            self._listening.reschedule(asyncio.get_running_loop().time())
        self._stopping = True

    async def _receive(self, limit: int) -> list[Delivery]:
        try:
            async with asyncio.timeout(None) as self._listening:
                return await self._bus.receive(self.subscription, limit=limit, wait=_FOREVER)
        except TimeoutError:  # only `stop` sets a time
            return []
        except Unavailable as error:
            await self._rest(error)
            return []
        finally:
            self._listening = None

    async def _serve(self, deliveries: Sequence[Delivery], group: asyncio.TaskGroup) -> None:
        """Answer a batch: everything that needs no waiting goes out in one call."""
        at = iso(self._clock())
        replies: list[Message] = []
        settlements: list[Settle] = []
        later: list[tuple[DirectiveMessage, Outcome, str, int]] = []
        for delivery in deliveries:
            token = delivery.lock_token
            try:
                directive = decode_directive(delivery.message.body)
            except Invalid as error:
                dead = Settle(lock_token=token, outcome=Settlement.DEAD_LETTER, reason=error.message)
                settlements.append(dead)
                continue
            settlements.append(Settle(lock_token=token, outcome=Settlement.COMPLETE))
            wish = wish_of(directive)
            outcome = wish.outcome or self._outcome()
            delay = self._delay_ms if wish.delay_ms is None else wish.delay_ms
            if outcome != "no_ack":
                replies.append(ack(directive, at))
            if outcome in ("no_ack", "silent"):
                continue
            if delay:
                later.append((directive, outcome, wish.why, delay))
            else:
                replies.append(result(directive, outcome, wish.why, at))
        if not await self._send(replies):
            return
        await self._settle(settlements)
        self._running += len(later)
        for work in later:
            group.create_task(self._work(*work))

    async def _work(self, directive: DirectiveMessage, outcome: Outcome, why: str, delay: int) -> None:
        """Wait, beat, report."""
        try:
            beat = self._beat(directive)
            waited = 0
            while waited < delay:
                nap = min(beat, delay - waited)
                await self._sleep(nap / 1000)
                waited += nap
                if waited < delay:
                    await self._send([heartbeat(directive, iso(self._clock()), waited / delay, waited)])
            await self._send([result(directive, outcome, why, iso(self._clock()))])
        finally:
            self._running -= 1
            self._freed.set()

    def _beat(self, directive: DirectiveMessage) -> int:
        """Milliseconds between heartbeats: a third of the lease, as long as it was when the work began."""
        try:
            lease = parse_iso(directive.lease_expires_at or "") - self._clock()
        except Invalid:
            lease = _USUAL_LEASE_MS
        return max(lease // 3, _SHORTEST_BEAT_MS)

    def _outcome(self) -> Outcome:
        return "retry" if self._failure_rate and self._chance() < self._failure_rate else "succeed"

    async def _send(self, replies: Sequence[Message]) -> bool:
        """Publish, waiting for a bus that is away; False if it is closed."""
        size = self._bus.capabilities.max_batch
        for start in range(0, len(replies), size):
            sent = False
            while not sent:
                try:
                    await self._bus.publish(replies[start : start + size])
                    sent = True
                except Unavailable as error:
                    if not await self._rest(error):
                        return False
        return True

    async def _settle(self, settlements: Sequence[Settle]) -> None:
        """Settle; where the bus cannot, it will deliver again, and the answers will be the same."""
        try:
            await self._bus.settle(settlements)
        except Unavailable as error:
            await self._rest(error)

    async def _rest(self, error: Unavailable) -> bool:
        """Wait before trying again; False, and the end of the service, if the bus is closed."""
        if error.code == "BUS_CLOSED":
            self._stopping = True
            return False
        await self._sleep(_PAUSE)
        return True
