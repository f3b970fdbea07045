"""What every queue must do before a message is settled: send, lend, count, share."""

from __future__ import annotations

import asyncio

import msgspec

from lucius.lifebook.core.run import Envelope
from lucius.lifebook.ports.queue import Delivery, RunQueue
from lucius.testing.lifebook.queue_harness import LONG, PATIENCE, QueueHarness, message_ids


class RunQueueLending:
    """What goes in is lent, to one at a time."""

    async def test_a_message_comes_out_as_it_went_in(self, harness: QueueHarness) -> None:
        """A delivery carries the envelope, its number and when it was sent, as its first loan."""
        envelope = harness.envelope()
        await harness.work.send(envelope, send_no=3)
        [delivery] = await harness.take()
        assert msgspec.json.decode(delivery.body, type=Envelope) == envelope
        assert (delivery.receives, delivery.send_no) == (1, 3)
        assert delivery.sent_at > 0

    async def test_an_empty_queue_lends_nothing(self, harness: QueueHarness) -> None:
        """A receiver gets nothing, whether it waits or not."""
        assert await harness.nothing()
        assert list(await harness.work.receive(10, wait_seconds=0.1, hidden_seconds=LONG)) == []

    async def test_a_receiver_gets_no_more_than_it_asked_for(self, harness: QueueHarness) -> None:
        """Nor more than ten at once; the rest stays for others."""
        await harness.send(14)
        assert len(await harness.work.receive(2, wait_seconds=1, hidden_seconds=LONG)) <= 2
        assert len(await harness.work.receive(50, wait_seconds=1, hidden_seconds=LONG)) <= 10

    async def test_a_lent_message_is_hidden(self, harness: QueueHarness) -> None:
        """While one has it nobody else gets it."""
        await harness.send()
        await harness.take()
        assert await harness.nothing()
        assert await harness.nothing(await harness.another())

    async def test_a_message_comes_back(self, harness: QueueHarness) -> None:
        """A loan that ends without an answer is lent again, and counted."""
        await harness.send()
        [first] = await harness.take(hidden=1)
        await harness.advance(1.2)
        [second] = await harness.take()
        assert (second.message_id, second.receives) == (first.message_id, 2)
        assert second.receipt != first.receipt

    async def test_a_delayed_message_waits(self, harness: QueueHarness) -> None:
        """It is not lent before its time, and then it is; a delay beyond the limit is cut."""
        await harness.send(delay=1)
        await harness.send(delay=10**7)
        assert await harness.nothing()
        await harness.advance(1.2)
        await harness.take()
        assert await harness.nothing()

    async def test_a_waiting_receiver_is_woken(self, harness: QueueHarness) -> None:
        """A message that is sent while somebody waits comes while it waits."""
        queues = [harness.work, await harness.another()]
        for queue in queues:
            waiting = asyncio.create_task(queue.receive(1, wait_seconds=PATIENCE, hidden_seconds=LONG))
            await asyncio.sleep(0)  # noqa: TID251 - gives the loop away, waits for no time
            [envelope] = await harness.send()
            [delivery] = await waiting
            assert msgspec.json.decode(delivery.body, type=Envelope) == envelope

    async def test_racing_receivers_never_share_a_message(self, harness: QueueHarness) -> None:
        """Forty messages, four receivers at once: each message is lent once."""
        await harness.send(40)
        queues = [harness.work, *[await harness.another() for _ in range(3)]]
        got: list[Delivery] = []

        async def drain(queue: RunQueue) -> None:
            while len(got) < 40:
                got.extend(await queue.receive(5, wait_seconds=0.1, hidden_seconds=LONG))

        async with asyncio.timeout(2 * PATIENCE), asyncio.TaskGroup() as group:
            for queue in queues:
                group.create_task(drain(queue))
        assert len(got) == 40
        assert len(set(message_ids(got))) == 40

    async def test_depth_counts(self, harness: QueueHarness) -> None:
        """What can be had and what cannot, told apart."""
        await harness.deep(0, 0)
        await harness.send(3)
        await harness.deep(3, 0)
        await harness.take(2)
        await harness.deep(1, 2)
