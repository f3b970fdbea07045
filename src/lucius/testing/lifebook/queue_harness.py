"""What the suite of queues is given: two empty queues, how to let time pass, and shorthand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from lucius.lifebook.core.run import Envelope
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.ports.queue import Delivery, Depth, RunQueue

PATIENCE = 15.0
"""Seconds after which something that must come counts as lost; no test ends by this."""
LONG = 60.0
"""Seconds for which a message is lent in tests that do not let it end."""


@dataclass(slots=True, kw_only=True)
class QueueHarness:
    """The work queue, its dead letters, and shorthand for the suite."""

    work: RunQueue
    dead: RunQueue
    another: Callable[[], Awaitable[RunQueue]]
    """Open the work queue once more, as another process would; the binding closes it."""
    advance: Callable[[float], Awaitable[None]]
    """Let that many seconds of the queue's time pass: a turn of its clock, or real waiting."""
    max_receives: int
    fences_receipts: bool
    """Whether the receipt of a loan that has ended can change nothing; otherwise it may, or may not."""
    numbers: count[int] = field(default_factory=lambda: count(1))

    def envelope(self, workspace_id: str = "acme") -> Envelope:
        """A message of a run of its own."""
        number = next(self.numbers)
        return Envelope(
            job_id=f"job-{number}",
            workspace_id=workspace_id,
            trigger_type=TriggerType.MANUAL,
            attempt=1,
            max_attempts=5,
            trace_id=f"{number:032x}",
            idempotency_key=f"key-ü-{number}",
        )

    async def send(self, number: int = 1, *, delay: float = 0) -> list[Envelope]:
        """So many new messages."""
        envelopes = [self.envelope() for _ in range(number)]
        for envelope in envelopes:
            await self.work.send(envelope, send_no=1, delay_seconds=delay)
        return envelopes

    async def take(
        self, number: int = 1, *, hidden: float = LONG, by: RunQueue | None = None
    ) -> list[Delivery]:
        """Receive until so many came; they must come, and no more than that."""
        queue = by or self.work
        found: list[Delivery] = []
        async with asyncio.timeout(PATIENCE):
            while len(found) < number:
                wanted = min(10, number - len(found))
                found += await queue.receive(wanted, wait_seconds=1, hidden_seconds=hidden)
        assert len(found) == number
        return found

    async def nothing(self, queue: RunQueue | None = None) -> bool:
        """Whether a receiver that does not wait gets nothing."""
        return list(await (queue or self.work).receive(10, wait_seconds=0, hidden_seconds=LONG)) == []

    async def deep(self, visible: int, hidden: int, queue: RunQueue | None = None) -> None:
        """Look until the depth is this; a queue may count a little late."""
        wanted = Depth(visible=visible, hidden=hidden)
        found: Depth | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                while (found := await (queue or self.work).depth()) != wanted:  # noqa: ASYNC110 - a bounded poll
                    await asyncio.sleep(0.02)  # noqa: TID251 - between two looks
        except TimeoutError:
            assert found == wanted  # says what was found

    async def exhaust(self) -> None:
        """Lend the one message as often as it can be lent, and give it back each time."""
        for _ in range(self.max_receives):
            [delivery] = await self.take()
            await self.work.hide(delivery, 0)


def message_ids(deliveries: Sequence[Delivery]) -> list[str]:
    """Which messages these are."""
    return [delivery.message_id for delivery in deliveries]
