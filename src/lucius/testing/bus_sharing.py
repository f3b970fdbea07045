"""What every bus must do with many readers: waiting, tenants, knowing what waits, closing."""

from __future__ import annotations

import asyncio

import pytest

from lucius.errors import Unavailable
from lucius.ports.bus import Settlement
from lucius.testing.bus_harness import BusHarness, ids, turn


class BusSharing:
    """Nobody is forgotten, and nobody takes what is not theirs."""

    # --- waiting

    async def test_a_waiting_receiver_is_woken(self, harness: BusHarness) -> None:
        """A message reaches a receiver that already waits."""
        receiver = harness.listen()
        await turn()
        message = harness.message()
        await harness.publish(message)
        assert ids(await receiver) == [message.message_id]

    async def test_waiting_ends(self, harness: BusHarness) -> None:
        """A receiver that found nothing in its time goes away with nothing."""
        assert await harness.bus.receive(harness.subscription(), limit=1, wait=0.01) == []

    async def test_a_receiver_cancelled_when_woken_loses_nothing(self, harness: BusHarness) -> None:
        """A receiver cancelled between its wake-up and its message leaves both to the next one."""
        first, second = harness.listen(), harness.listen()
        await turn()
        message = harness.message()
        await harness.publish(message)
        first.cancel()
        await asyncio.wait([first])
        served = first if not first.cancelled() else second  # a quick bus has served the first
        assert ids(await served) == [message.message_id]
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    async def test_a_cancelled_receiver_is_not_woken(self, harness: BusHarness) -> None:
        """A message goes past a receiver that was cancelled before it came."""
        first, second = harness.listen(), harness.listen()
        await turn()
        first.cancel()
        message = harness.message()
        await harness.publish(message)
        assert ids(await second) == [message.message_id]
        await asyncio.gather(first, return_exceptions=True)

    async def test_an_abandoned_message_wakes_who_waits(self, harness: BusHarness) -> None:
        """Giving a message back reaches a receiver that waits."""
        await harness.publish(harness.message())
        lent = await harness.take()
        receiver = harness.listen()
        await turn()
        await harness.settle(lent, Settlement.ABANDON)
        assert ids(await receiver) == ids(lent)

    async def test_a_lost_lock_wakes_who_waits(self, harness: BusHarness) -> None:
        """A lock that runs out reaches a receiver that waits."""
        await harness.publish(harness.message())
        lent = await harness.take()
        receiver = harness.listen()
        await turn()
        await harness.advance(harness.lock_seconds * 1.1)
        assert ids(await receiver) == ids(lent)

    # --- tenants

    async def test_a_small_tenant_does_not_wait_for_a_large_one(self, harness: BusHarness) -> None:
        """Behind 100 messages of another tenant, one message is among the next few."""
        await harness.take()
        await harness.publish(*(harness.message(tenant="large") for _ in range(100)))
        await harness.publish(harness.message(tenant="small"))
        got = await harness.take(limit=4)
        assert "small" in {delivery.message.tenant_id for delivery in got}

    async def test_a_large_tenant_gets_no_more_by_using_all_topics(self, harness: BusHarness) -> None:
        """Fairness is between tenants, not between topics."""
        await harness.take()
        lanes = len(harness.topics)
        await harness.publish(*(harness.message(tenant="large", topic=index % lanes) for index in range(60)))
        await harness.publish(*(harness.message(tenant="small") for _ in range(5)))
        got = await harness.take(limit=10)
        assert sum(delivery.message.tenant_id == "small" for delivery in got) >= 4

    async def test_a_narrowed_receiver_sees_its_tenants_only(self, harness: BusHarness) -> None:
        """A receiver bound to some tenants gets theirs and leaves the rest."""
        await harness.publish(*(harness.message(tenant=name) for name in ("a", "b", "c", "a")))
        got = await harness.take(tenants=frozenset({"a", "c"}))
        assert sorted(delivery.message.tenant_id for delivery in got) == ["a", "a", "c"]
        assert [delivery.message.tenant_id for delivery in await harness.take()] == ["b"]

    async def test_a_narrowed_waiter_does_not_swallow_a_wake_up(self, harness: BusHarness) -> None:
        """A message wakes a receiver that may see it, though another waits before that one."""
        stranger = harness.listen(tenants=frozenset({"other"}))
        await turn()
        reader = harness.listen()
        await turn()
        await harness.publish(harness.message(tenant="acme"))
        assert [delivery.message.tenant_id for delivery in await reader] == ["acme"]
        stranger.cancel()
        await asyncio.gather(stranger, return_exceptions=True)

    # --- knowing what waits

    async def test_backlog_counts_what_waits(self, harness: BusHarness) -> None:
        """The backlog of a subscription is what waits, without what is lent."""
        await harness.take()
        await harness.publish(*(harness.message() for _ in range(3)))
        await harness.take(limit=1)
        assert (await harness.bus.backlog())["ocr"] == 2

    async def test_withdrawn_messages_are_gone(self, harness: BusHarness) -> None:
        """A bus that withdraws delivers nothing that was withdrawn, and its locks are lost."""
        if not harness.bus.capabilities.withdraws:
            return
        await harness.publish(*(harness.message() for _ in range(3)))
        lent = await harness.take(limit=1)
        await harness.bus.withdraw(["m-1", "m-2", "never-there"])
        assert ids(await harness.take()) == ["m-3"]
        assert await harness.settle(lent, Settlement.ABANDON) == [False]
        assert await harness.take() == []

    async def test_withdrawn_before_anybody_subscribes(self, harness: BusHarness) -> None:
        """What still waits for its first subscription can be withdrawn too."""
        if not harness.bus.capabilities.withdraws:
            return
        await harness.publish(harness.message(), harness.message())
        await harness.bus.withdraw(["m-1"])
        assert ids(await harness.take()) == ["m-2"]

    async def test_a_withdrawn_message_can_come_again(self, harness: BusHarness) -> None:
        """After a withdrawal the same id is a new message, and an old lock has no say in it."""
        if not harness.bus.capabilities.withdraws:
            return
        message = harness.message()
        await harness.publish(message)
        old = await harness.take()
        await harness.bus.withdraw([message.message_id])
        await harness.publish(message)
        [new] = await harness.take()
        assert new.delivery_count == 1
        assert await harness.settle([*old, new], Settlement.COMPLETE) == [False, True]

    async def test_unread_until_somebody_takes_it(self, harness: BusHarness) -> None:
        """In a queue that is read, a message is unread until it is first lent."""
        if not harness.bus.capabilities.knows_unread:
            return
        await harness.take()
        await harness.publish(harness.message(), harness.message())
        assert await harness.unread("m-1", "m-2", "never-there") == [True, True, False]
        lent = await harness.take(limit=1)
        assert await harness.unread("m-1", "m-2") == [False, True]
        await harness.settle(lent, Settlement.ABANDON)
        assert await harness.unread("m-1") == [False]

    async def test_unread_by_nobody_is_told_apart(self, harness: BusHarness) -> None:
        """Without asking for a reader, whatever waits and was never lent is unread."""
        if not harness.bus.capabilities.knows_unread:
            return
        await harness.publish(harness.message(), harness.message())
        assert await harness.bus.unread(["m-1", "m-2", "never-there"]) == [True, True, False]
        await harness.take(limit=1)
        assert await harness.bus.unread(["m-1", "m-2"]) == [False, True]

    async def test_what_nobody_reads_is_not_unread(self, harness: BusHarness) -> None:
        """A message without a reader is stranded, not waiting: nothing is held back for its sake."""
        if not harness.bus.capabilities.knows_unread:
            return
        await harness.publish(harness.message())
        assert await harness.unread("m-1") == [False]
        await harness.take(tenants=frozenset({"other"}))
        assert await harness.unread("m-1") == [False]

    async def test_a_reader_that_went_away_reads_no_more(self, harness: BusHarness) -> None:
        """When nobody has asked for the length of a lock, what waits is no longer unread."""
        if not harness.bus.capabilities.knows_unread:
            return
        await harness.take()
        await harness.publish(harness.message())
        await harness.advance(harness.lock_seconds * 1.1)
        assert await harness.unread("m-1") == [False]

    # --- closing

    async def test_closing_wakes_who_waits(self, harness: BusHarness) -> None:
        """A waiting receiver goes home with nothing when the bus closes."""
        receiver = harness.listen()
        await turn()
        await harness.bus.close()
        assert await receiver == []

    async def test_a_closed_bus_refuses(self, harness: BusHarness) -> None:
        """After closing, publishing and receiving raise; closing again does nothing."""
        message = harness.message()
        await harness.bus.close()
        await harness.bus.close()
        with pytest.raises(Unavailable):
            await harness.publish(message)
        with pytest.raises(Unavailable):
            await harness.take()
