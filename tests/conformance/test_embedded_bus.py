from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.errors import Invalid, Unavailable
from lucius.ports.bus import Settlement, Subscription
from lucius.testing.buses import BusHarness, BusSuite, ids, new_harness, turn

TOPICS = tuple(f"global-bus-p{lane}" for lane in range(16))


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_769_508_120_000

    def __call__(self) -> int:
        """The time."""
        return self.now


@pytest.fixture
async def harness() -> AsyncIterator[BusHarness]:
    """An embedded bus whose time is moved by hand."""
    clock = Hand()
    bus = EmbeddedBus(topics=TOPICS, clock=clock, lock_seconds=30, max_deliveries=3, max_messages=5000)

    async def advance(seconds: float) -> None:
        clock.now += int(seconds * 1000)
        bus.expire_locks()

    yield new_harness(bus, topics=TOPICS, lock_seconds=30, max_deliveries=3, advance=advance)
    await bus.close()


class TestEmbeddedBus(BusSuite):
    """The embedded bus keeps every promise of the port."""


async def test_a_lock_that_runs_out_wakes_by_itself() -> None:
    """Nobody has to look: the bus's own timer hands an expired message to who waits."""
    loop = asyncio.get_running_loop()
    bus = EmbeddedBus(topics=TOPICS, clock=lambda: int(loop.time() * 1000), lock_seconds=0.02)
    mine = new_harness(bus, topics=TOPICS, lock_seconds=0.02, max_deliveries=10, advance=asyncio.sleep)
    await mine.publish(mine.message())
    lent = await mine.take()
    assert ids(await mine.listen()) == ids(lent)
    await bus.close()


async def test_a_clock_that_stands_still_does_not_spin() -> None:
    """A timer that fires before the bus's clock says so is set again, not obeyed."""
    bus = EmbeddedBus(topics=TOPICS, clock=lambda: 0, lock_seconds=0.001)
    mine = new_harness(bus, topics=TOPICS, lock_seconds=0.001, max_deliveries=10, advance=asyncio.sleep)
    await mine.publish(mine.message())
    lent = await mine.take()
    assert await bus.receive(mine.subscription(), limit=1, wait=0.02) == []
    assert await mine.settle(lent, Settlement.COMPLETE) == [True]
    await bus.close()


async def test_a_lock_is_lost_by_the_clock_alone() -> None:
    """No timer has to fire: from the moment a lock runs out, neither settling nor renewing finds it."""
    clock = Hand()
    bus = EmbeddedBus(topics=TOPICS, clock=clock, lock_seconds=30)
    mine = new_harness(bus, topics=TOPICS, lock_seconds=30, max_deliveries=10, advance=asyncio.sleep)
    await mine.publish(mine.message(), mine.message())
    first, second = await mine.take()
    clock.now += 30_000
    assert await mine.settle([first], Settlement.COMPLETE) == [False]
    assert await bus.renew([second.lock_token]) == [None]
    await bus.close()


async def test_a_full_bus_takes_none_of_a_batch(harness: BusHarness) -> None:
    """Beyond its bound the bus says BUS_FULL, keeps what it had, and has room again after settling."""
    await harness.take()
    for _ in range(2):
        await harness.publish(*(harness.message() for _ in range(2499)))
    with pytest.raises(Unavailable) as refusal:
        await harness.publish(*(harness.message() for _ in range(3)))
    assert (refusal.value.code, refusal.value.retryable) == ("BUS_FULL", True)
    assert await harness.bus.backlog() == {"ocr": 4998}
    await harness.settle(await harness.take(limit=1), Settlement.COMPLETE)
    await harness.publish(*(harness.message() for _ in range(3)))


async def test_a_batch_beyond_the_declared_size_is_refused(harness: BusHarness) -> None:
    """What a bus declares it keeps to, so that callers written against it fit others too."""
    size = harness.bus.capabilities.max_batch + 1
    with pytest.raises(Invalid, match="at most"):
        await harness.publish(*(harness.message() for _ in range(size)))


async def test_priority_goes_first_within_a_tenant(harness: BusHarness) -> None:
    """A tenant's urgent message passes its own, and a priority that is no number counts as none."""
    messages = [harness.message(priority=value) for value in ("1", "9", "soon", "9")]
    await harness.publish(*messages)
    assert ids(await harness.take()) == ["m-2", "m-4", "m-1", "m-3"]


async def test_priority_does_not_pass_other_tenants(harness: BusHarness) -> None:
    """Urgency is a tenant's own affair: it earns no extra turns."""
    await harness.take()
    await harness.publish(*(harness.message(tenant="loud", priority="9") for _ in range(10)))
    await harness.publish(*(harness.message(tenant="quiet") for _ in range(2)))
    tenants = [delivery.message.tenant_id for delivery in await harness.take(limit=4)]
    assert tenants == ["loud", "quiet", "loud", "quiet"]


async def test_one_name_means_one_subscription(harness: BusHarness) -> None:
    """A second reader of the same name that wants something else is refused."""
    await harness.take()
    with pytest.raises(Invalid) as refusal:
        await harness.bus.receive(harness.subscription("ocr", ("SIS",)), limit=1, wait=0)
    assert refusal.value.code == "SUBSCRIPTION_DIFFERS"


async def test_a_subscription_to_an_unknown_topic_is_refused(harness: BusHarness) -> None:
    """Listening where nothing can ever arrive is a mistake, not a long wait."""
    with pytest.raises(Invalid) as refusal:
        await harness.bus.receive(Subscription(name="x", topics=("nowhere",)), limit=1, wait=0)
    assert refusal.value.code == "UNKNOWN_TOPIC"


async def test_receiving_nothing_is_refused(harness: BusHarness) -> None:
    """A limit below one is the caller's mistake."""
    with pytest.raises(Invalid):
        await harness.take(limit=0)


async def test_declared_subscriptions_and_the_unclaimed() -> None:
    """A declared subscription takes messages before its first receive; what none takes is shown."""
    ocr = Subscription(name="ocr", topics=TOPICS, subjects=("OCR",))
    bus = EmbeddedBus(topics=TOPICS, clock=lambda: 0, subscriptions=[ocr])
    mine = new_harness(bus, topics=TOPICS, lock_seconds=60, max_deliveries=10, advance=asyncio.sleep)
    await mine.publish(mine.message(), mine.message(subject="SIS"), mine.message(subject="SIS"))
    assert await bus.backlog() == {"ocr": 1}
    assert bus.unclaimed() == {"SIS": 2}
    bus.declare(mine.subscription("sis", ("SIS",)))
    assert (await bus.backlog(), bus.unclaimed()) == ({"ocr": 1, "sis": 2}, {})


async def test_old_dead_letters_make_room() -> None:
    """Only the newest dead letters are kept."""
    bus = EmbeddedBus(topics=TOPICS, clock=lambda: 0, max_dead_letters=2)
    mine = new_harness(bus, topics=TOPICS, lock_seconds=60, max_deliveries=10, advance=asyncio.sleep)
    await mine.publish(*(mine.message() for _ in range(3)))
    await mine.settle(await mine.take(), Settlement.DEAD_LETTER, "bad")
    assert [dead.message.message_id for dead in await bus.dead_letters()] == ["m-3", "m-2"]
    await bus.close()


async def test_a_waiting_reader_is_a_reader(harness: BusHarness) -> None:
    """A receiver that has waited longer than a lock lasts still counts as reading."""
    stranger = harness.listen(tenants=frozenset({"other"}))
    reader = harness.listen(tenants=frozenset({"acme"}))
    await turn()
    await harness.advance(100)
    await harness.publish(harness.message(), harness.message())
    assert await harness.unread("m-1", "m-2") == [True, True]
    await reader
    assert await harness.unread("m-1", "m-2") == [False, True]
    stranger.cancel()
    await asyncio.gather(stranger, return_exceptions=True)
