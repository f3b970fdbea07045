"""What every bus must do with one message: publish, receive, settle, locks."""

from __future__ import annotations

from uuid import UUID

import pytest

from lucius.errors import Invalid
from lucius.ports.bus import Message, Settle, Settlement
from lucius.testing.bus_harness import BusHarness, ids, turn


class BusDelivery:
    """What goes in comes out, once, and is settled by who holds it."""

    # --- publish and receive

    async def test_a_message_comes_out_as_it_went_in(self, harness: BusHarness) -> None:
        """A delivery carries the very message, counted as its first delivery."""
        message = harness.message(mode="BURST")
        await harness.publish(message)
        [delivery] = await harness.take()
        assert delivery.message == message
        assert delivery.delivery_count == 1

    async def test_an_empty_bus_lends_nothing(self, harness: BusHarness) -> None:
        """Receiving without waiting returns at once with nothing."""
        assert await harness.take() == []

    async def test_nothing_published_is_nothing(self, harness: BusHarness) -> None:
        """An empty batch is taken and delivers nothing."""
        await harness.publish()
        assert await harness.take() == []

    async def test_limit_bounds_a_receive(self, harness: BusHarness) -> None:
        """A receiver gets no more than it asked for, and the rest stays."""
        await harness.publish(*(harness.message() for _ in range(5)))
        assert len(await harness.take(limit=2)) == 2
        assert len(await harness.take(limit=10)) == 3

    async def test_first_in_first_out_within_a_tenant(self, harness: BusHarness) -> None:
        """One tenant's messages of one topic leave in the order they came."""
        messages = [harness.message() for _ in range(20)]
        await harness.publish(*messages)
        assert ids(await harness.take(limit=20)) == [each.message_id for each in messages]

    async def test_a_subscription_reads_all_its_topics(self, harness: BusHarness) -> None:
        """Messages of every topic named in the subscription arrive."""
        messages = [harness.message(topic=index) for index in range(len(harness.topics))]
        await harness.publish(*messages)
        got = await harness.take(limit=len(messages))
        assert sorted(ids(got)) == sorted(each.message_id for each in messages)

    async def test_a_subscription_takes_only_its_subjects(self, harness: BusHarness) -> None:
        """A message of another subject goes to its own subscription and to no other."""
        await harness.take()
        other = harness.subscription("sis", ("SIS",))
        await harness.bus.receive(other, limit=1, wait=0)
        message = harness.message(subject="SIS")
        await harness.publish(message)
        assert await harness.take() == []
        assert ids(await harness.bus.receive(other, limit=1, wait=0)) == [message.message_id]

    async def test_no_subjects_means_all(self, harness: BusHarness) -> None:
        """A subscription without subjects takes every subject."""
        everything = harness.subscription("all", ())
        await harness.bus.receive(everything, limit=1, wait=0)
        await harness.publish(harness.message(subject="OCR"), harness.message(subject="SIS"))
        assert len(await harness.bus.receive(everything, limit=10, wait=0)) == 2

    async def test_each_subscription_gets_its_own_copy(self, harness: BusHarness) -> None:
        """Two subscriptions to one subject each see the message, and settle it on their own."""
        audit = harness.subscription("audit", ("OCR",))
        await harness.bus.receive(audit, limit=1, wait=0)
        await harness.take()
        await harness.publish(harness.message())
        mine = await harness.take()
        assert await harness.settle(mine, Settlement.COMPLETE) == [True]
        assert ids(await harness.bus.receive(audit, limit=1, wait=0)) == ids(mine)

    async def test_a_message_waits_for_its_first_subscription(self, harness: BusHarness) -> None:
        """What was published before anybody subscribed is kept for who does."""
        messages = [harness.message() for _ in range(3)]
        await harness.publish(*messages)
        assert ids(await harness.take()) == [each.message_id for each in messages]

    async def test_an_unknown_topic_is_refused(self, harness: BusHarness) -> None:
        """A topic the bus does not know is the sender's mistake."""
        message = harness.message()
        stray = Message(message_id="x", topic="no-such-topic", subject="OCR", tenant_id="acme", body=b"{}")
        with pytest.raises(Invalid) as refusal:
            await harness.publish(message, stray)
        assert refusal.value.code == "UNKNOWN_TOPIC"

    async def test_a_refused_batch_leaves_nothing(self, harness: BusHarness) -> None:
        """All of a batch is taken or none of it."""
        await harness.take()
        stray = Message(message_id="x", topic="no-such-topic", subject="OCR", tenant_id="acme", body=b"{}")
        with pytest.raises(Invalid):
            await harness.publish(harness.message(), stray)
        assert await harness.take() == []

    async def test_a_full_batch_is_taken(self, harness: BusHarness) -> None:
        """A batch as large as the bus declares goes in at once and comes out whole."""
        size = min(harness.bus.capabilities.max_batch, 2000)
        await harness.publish(*(harness.message() for _ in range(size)))
        seen: set[str] = set()
        while got := await harness.take(limit=500):
            seen.update(ids(got))
        assert len(seen) == size

    # --- settling

    async def test_a_completed_message_is_gone(self, harness: BusHarness) -> None:
        """Nothing completed is ever delivered again."""
        await harness.publish(harness.message())
        assert await harness.settle(await harness.take(), Settlement.COMPLETE) == [True]
        await harness.advance(harness.lock_seconds * 2)
        assert await harness.take() == []

    async def test_settling_twice_counts_once(self, harness: BusHarness) -> None:
        """The second settlement of a lock answers False."""
        await harness.publish(harness.message())
        lent = await harness.take()
        await harness.settle(lent, Settlement.COMPLETE)
        assert await harness.settle(lent, Settlement.COMPLETE) == [False]

    async def test_an_unknown_lock_settles_nothing(self, harness: BusHarness) -> None:
        """A token nobody was given answers False."""
        settle = Settle(lock_token=str(UUID(int=0)), outcome=Settlement.COMPLETE)
        assert await harness.bus.settle([settle]) == [False]

    async def test_answers_come_in_the_order_asked(self, harness: BusHarness) -> None:
        """A batch of settlements is answered one by one, the lost ones among the good."""
        await harness.publish(*(harness.message() for _ in range(3)))
        first, second, third = await harness.take()
        await harness.settle([second], Settlement.COMPLETE)
        assert await harness.settle([first, second, third], Settlement.COMPLETE) == [True, False, True]

    async def test_a_lent_message_is_hidden(self, harness: BusHarness) -> None:
        """While one receiver holds a message no other gets it."""
        await harness.publish(harness.message())
        await harness.take()
        assert await harness.take() == []

    async def test_an_abandoned_message_comes_back_at_once(self, harness: BusHarness) -> None:
        """Abandoning delivers again, with a new lock and a higher count."""
        await harness.publish(harness.message())
        [first] = await harness.take()
        await harness.settle([first], Settlement.ABANDON)
        [again] = await harness.take()
        assert (again.message, again.delivery_count) == (first.message, 2)
        assert again.lock_token != first.lock_token

    async def test_a_dead_letter_is_kept_with_its_reason(self, harness: BusHarness) -> None:
        """A dead-lettered message leaves its queue and can be looked at."""
        await harness.publish(harness.message())
        lent = await harness.take()
        await harness.settle(lent, Settlement.DEAD_LETTER, "unreadable")
        assert await harness.take() == []
        [dead] = await harness.bus.dead_letters()
        assert (dead.message, dead.subscription, dead.reason) == (lent[0].message, "ocr", "unreadable")

    async def test_dead_letters_come_newest_first(self, harness: BusHarness) -> None:
        """The list of dead letters starts with the latest and keeps to its limit."""
        await harness.publish(*(harness.message() for _ in range(3)))
        for delivery in await harness.take():
            await harness.settle([delivery], Settlement.DEAD_LETTER, delivery.message.message_id)
        latest = await harness.bus.dead_letters(limit=2)
        assert [dead.reason for dead in latest] == ["m-3", "m-2"]

    async def test_delivered_too_often_is_dead(self, harness: BusHarness) -> None:
        """A message nobody completes becomes a dead letter after the declared number of deliveries."""
        await harness.publish(harness.message())
        counts = []
        while lent := await harness.take():
            counts += [delivery.delivery_count for delivery in lent]
            await harness.settle(lent, Settlement.ABANDON)
        assert counts == list(range(1, harness.max_deliveries + 1))
        [dead] = await harness.bus.dead_letters()
        assert dead.delivery_count == harness.max_deliveries

    async def test_a_poison_message_does_not_block_its_tenant(self, harness: BusHarness) -> None:
        """What is abandoned again and again lets the messages behind it pass."""
        poison, healthy = harness.message(), harness.message()
        await harness.publish(poison, healthy)
        lent = await harness.take(limit=1)
        await harness.settle(lent, Settlement.ABANDON)
        assert ids(await harness.take(limit=1)) == [healthy.message_id]

    # --- locks

    async def test_a_lost_lock_delivers_again(self, harness: BusHarness) -> None:
        """When a lock runs out the message comes back, counted."""
        await harness.publish(harness.message())
        [first] = await harness.take()
        await harness.advance(harness.lock_seconds * 1.1)
        [again] = await harness.take()
        assert (again.message, again.delivery_count) == (first.message, 2)

    async def test_a_lost_lock_cannot_settle(self, harness: BusHarness) -> None:
        """A receiver that was too slow learns so, and the message stays with the next."""
        await harness.publish(harness.message())
        slow = await harness.take()
        await harness.advance(harness.lock_seconds * 1.1)
        quick = await harness.take()
        assert await harness.settle(slow, Settlement.COMPLETE) == [False]
        assert await harness.settle(quick, Settlement.COMPLETE) == [True]

    async def test_a_lost_lock_cannot_settle_even_unswept(self, harness: BusHarness) -> None:
        """A lock is lost by time alone, whether or not anybody has looked since."""
        await harness.publish(harness.message())
        slow = await harness.take()
        await harness.advance(harness.lock_seconds * 1.1)
        assert await harness.settle(slow, Settlement.COMPLETE) == [False]

    async def test_locks_that_run_out_lead_to_the_dead_letters(self, harness: BusHarness) -> None:
        """Crashing receivers use up deliveries as abandoning ones do."""
        await harness.publish(harness.message())
        for _ in range(harness.max_deliveries):
            assert len(await harness.take()) == 1
            await harness.advance(harness.lock_seconds * 1.1)
        assert await harness.take() == []
        assert len(await harness.bus.dead_letters()) == 1

    async def test_a_renewed_lock_holds(self, harness: BusHarness) -> None:
        """Renewing starts the lock's time again."""
        await harness.publish(harness.message())
        lent = await harness.take()
        await harness.advance(harness.lock_seconds * 0.6)
        [until] = await harness.bus.renew([lent[0].lock_token])
        assert until is not None
        assert until > lent[0].locked_until
        await harness.advance(harness.lock_seconds * 0.6)
        assert await harness.settle(lent, Settlement.COMPLETE) == [True]

    async def test_a_lost_lock_cannot_be_renewed(self, harness: BusHarness) -> None:
        """Renewing a lock that ran out, or was settled, answers None."""
        await harness.publish(harness.message(), harness.message())
        settled, slow = await harness.take()
        await harness.settle([settled], Settlement.COMPLETE)
        await harness.advance(harness.lock_seconds * 1.1)
        assert await harness.bus.renew([settled.lock_token, slow.lock_token]) == [None, None]

    # --- one message, one delivery

    async def test_the_same_id_waiting_is_one_message(self, harness: BusHarness) -> None:
        """Publishing again what still waits changes nothing."""
        message = harness.message()
        await harness.publish(message)
        await harness.publish(message, message)
        assert ids(await harness.take()) == [message.message_id]

    async def test_the_same_id_lent_is_one_message(self, harness: BusHarness) -> None:
        """Publishing again what a receiver holds gives it to nobody else."""
        message = harness.message()
        await harness.publish(message)
        lent = await harness.take()
        await harness.publish(message)
        assert await harness.take() == []
        await harness.settle(lent, Settlement.COMPLETE)
        assert await harness.take() == []

    async def test_concurrent_receivers_share_nothing(self, harness: BusHarness) -> None:
        """Many receivers at once get every message exactly once between them."""
        receivers = [harness.listen() for _ in range(8)]
        await turn()
        messages = [harness.message(tenant=f"t{index % 3}") for index in range(8)]
        await harness.publish(*messages)
        got = [delivery for task in receivers for delivery in await task]
        assert sorted(ids(got)) == sorted(each.message_id for each in messages)
