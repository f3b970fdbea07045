from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from lucius.adapters.buses.sqlite import SqliteBus
from lucius.errors import Invalid, Unavailable
from lucius.ports.bus import Settlement, Subscription
from lucius.testing.buses import BusHarness, BusSuite, ids, new_harness, turn
from lucius.testing.jobs import Hand

TOPICS = tuple(f"global-bus-p{lane}" for lane in range(16))
LOCK = 30.0
Open = Callable[[], SqliteBus]


@pytest.fixture
def clock() -> Hand:
    """The time of every bus in a test."""
    return Hand()


@pytest.fixture
async def another(tmp_path: Path, clock: Hand) -> AsyncIterator[Open]:
    """One more bus on the same file, as another process would open it; all are closed afterwards."""
    opened: list[SqliteBus] = []

    def one() -> SqliteBus:
        bus = SqliteBus(
            tmp_path / "bus.db",
            topics=TOPICS,
            clock=clock,
            new_token=lambda: uuid4().hex,
            lock_seconds=LOCK,
            max_deliveries=3,
            max_messages=3000,
            max_dead_letters=20,
        )
        opened.append(bus)
        return bus

    yield one
    for bus in opened:
        await bus.close()


@pytest.fixture
def harness(another: Open, clock: Hand) -> BusHarness:
    """A SQLite bus whose time is moved by hand."""
    return _harness(another(), clock)


def _harness(bus: SqliteBus, clock: Hand) -> BusHarness:
    async def advance(seconds: float) -> None:
        clock.advance(int(seconds * 1000))

    return new_harness(bus, topics=TOPICS, lock_seconds=LOCK, max_deliveries=3, advance=advance)


class TestSqliteBus(BusSuite):
    """The SQLite bus keeps every promise of the port."""


# --- bounds and mistakes


async def test_a_full_bus_takes_none_of_a_batch(harness: BusHarness) -> None:
    """Beyond its bound the bus says BUS_FULL, keeps what it had, and has room again after settling."""
    await harness.take()
    for _ in range(3):
        await harness.publish(*(harness.message() for _ in range(999)))
    with pytest.raises(Unavailable) as refusal:
        await harness.publish(*(harness.message() for _ in range(4)))
    assert (refusal.value.code, refusal.value.retryable) == ("BUS_FULL", True)
    assert await harness.bus.backlog() == {"ocr": 2997}
    await harness.settle(await harness.take(limit=1), Settlement.COMPLETE)
    await harness.publish(*(harness.message() for _ in range(4)))


async def test_a_batch_beyond_the_declared_size_is_refused(harness: BusHarness) -> None:
    """What a bus declares it keeps to."""
    size = harness.bus.capabilities.max_batch + 1
    with pytest.raises(Invalid, match="at most"):
        await harness.publish(*(harness.message() for _ in range(size)))


async def test_priority_goes_first_within_a_tenant(harness: BusHarness) -> None:
    """A tenant's urgent message passes its own, whatever number or nonsense the priority is."""
    messages = [harness.message(priority=value) for value in ("1", "9", "soon", "9", "9" * 40)]
    await harness.publish(*messages)
    assert ids(await harness.take()) == ["m-5", "m-2", "m-4", "m-1", "m-3"]


async def test_priority_does_not_pass_other_tenants(harness: BusHarness) -> None:
    """Urgency is a tenant's own affair: it earns no extra turns, in one receive or in several."""
    await harness.take()
    await harness.publish(*(harness.message(tenant="loud", priority="9") for _ in range(10)))
    await harness.publish(*(harness.message(tenant="quiet") for _ in range(4)))
    taken = [*await harness.take(limit=3), *await harness.take(limit=1), *await harness.take(limit=2)]
    assert [delivery.message.tenant_id for delivery in taken] == ["loud", "quiet"] * 3


async def test_mistakes_of_a_receiver_are_refused(harness: BusHarness) -> None:
    """A topic that cannot be and a limit below one are told, not waited for."""
    with pytest.raises(Invalid) as refusal:
        await harness.bus.receive(Subscription(name="x", topics=("nowhere",)), limit=1, wait=0)
    assert refusal.value.code == "UNKNOWN_TOPIC"
    with pytest.raises(Invalid) as refusal:
        await harness.take(limit=0)
    assert refusal.value.code == "INVALID_LIMIT"


async def test_what_is_no_lock_token_settles_nothing(harness: BusHarness) -> None:
    """Whatever a caller sends as a token, it is only ever not a lock."""
    await harness.publish(harness.message())
    [lent] = await harness.take()
    number, _, secret = lent.lock_token.partition(".")
    forged = [
        "",
        ".",
        f"{number}.",
        number,
        f"{number}.x",
        f"-1.{secret}",
        "9" * 30 + "." + secret,
        "²." + secret,
    ]
    assert await harness.bus.renew(forged) == [None] * len(forged)
    assert await harness.settle([lent], Settlement.COMPLETE) == [True]


async def test_a_message_that_cannot_be_kept_harms_nobody_else(harness: BusHarness) -> None:
    """One caller's broken text fails its own call; calls of the same moment go through."""
    await harness.take()
    good, bad, also = harness.message(), harness.message(tenant="\ud800"), harness.message()
    calls = (harness.publish(good), harness.publish(also, bad), harness.publish(harness.message()))
    failures = [type(each) for each in await asyncio.gather(*calls, return_exceptions=True)]
    assert failures == [type(None), UnicodeEncodeError, type(None)]
    assert ids(await harness.take()) == ["m-1", "m-4"]


# --- one file, several buses


async def test_what_one_publishes_another_receives(harness: BusHarness, another: Open) -> None:
    """A receiver that waits hears of what is published elsewhere, and subscriptions made elsewhere count."""
    other = another()
    waiting = asyncio.create_task(other.receive(harness.subscription(), limit=5, wait=10))
    await turn()
    await harness.publish(harness.message())
    [lent] = await waiting
    assert await harness.take() == []
    assert await harness.settle([lent], Settlement.ABANDON) == [True]
    assert ids(await harness.take()) == [lent.message.message_id]


async def test_a_lock_lost_elsewhere_wakes_who_waits(harness: BusHarness, another: Open, clock: Hand) -> None:
    """Nobody has to be told: whoever waits notices that another's lock has run out."""
    await harness.publish(harness.message())
    lent = await harness.take()
    waiting = asyncio.create_task(another().receive(harness.subscription(), limit=5, wait=10))
    await turn()
    clock.advance(int(LOCK * 1000))
    assert ids(await waiting) == ids(lent)
    assert await harness.settle(lent, Settlement.COMPLETE) == [False]


async def test_a_reader_elsewhere_is_a_reader(harness: BusHarness, another: Open, clock: Hand) -> None:
    """Who waits or has asked at another bus counts here, for the tenants it may see."""
    other = another()
    asked = frozenset({"acme"})
    await other.receive(harness.subscription(), limit=1, wait=0, tenants=asked)
    await harness.publish(harness.message(), harness.message(tenant="else"))
    assert await harness.unread("m-1", "m-2") == [True, False]
    clock.advance(int(LOCK * 1000) + 2000)
    assert await harness.unread("m-1", "m-2") == [False, False]
    await other.receive(harness.subscription(), limit=1, wait=0, tenants=frozenset({"nobody"}))
    assert await harness.unread("m-1", "m-2") == [False, False]


async def test_a_reader_that_waits_long_stays_a_reader(
    harness: BusHarness, another: Open, clock: Hand
) -> None:
    """A wait longer than a lock is noted again and again, where other buses see it."""
    waiting = harness.listen(tenants=frozenset({"acme"}))
    other = another()
    for _ in range(2):
        await _until(lambda: other._reading.is_read(1, "acme", clock()))
        assert not other._reading.is_read(1, "else", clock())
        clock.advance(int(LOCK * 1000) * 3)
        assert not other._reading.is_read(1, "acme", clock())
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def _until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something holds; a bound, so that a test that waits in vain ends."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


async def test_asking_again_and_again_writes_once(harness: BusHarness, another: Open, clock: Hand) -> None:
    """A poll that finds nothing leaves the file alone, until its note is a second old."""
    await harness.take()
    watcher = another()._reading
    before = watcher.version()
    for _ in range(5):
        assert await harness.take() == []
    assert watcher.version() == before
    clock.advance(1000)
    await harness.take()
    assert watcher.version() != before


async def test_one_name_means_one_thing_while_it_is_read(
    harness: BusHarness, another: Open, clock: Hand
) -> None:
    """Another meaning is refused while somebody reads; a next version may change what nobody reads."""
    await harness.take()
    await harness.publish(harness.message(subject="SIS"))
    other, wanted = another(), harness.subscription("ocr", ("OCR", "SIS"))
    with pytest.raises(Invalid) as refusal:
        await other.receive(wanted, limit=1, wait=0)
    assert refusal.value.code == "SUBSCRIPTION_DIFFERS"
    clock.advance(int(LOCK * 1000) + 1)
    assert ids(await other.receive(wanted, limit=1, wait=0)) == ["m-1"]
    with pytest.raises(Invalid):
        await harness.take()


async def test_declared_subscriptions_and_the_unclaimed(harness: BusHarness, another: Open) -> None:
    """A declared subscription takes messages before its first receive; what none takes is shown."""
    bus = another()
    await bus.declare(harness.subscription())
    await harness.publish(harness.message(), harness.message(subject="SIS"), harness.message(subject="SIS"))
    assert (await bus.backlog(), await bus.unclaimed()) == ({"ocr": 1}, {"SIS": 2})
    await bus.declare(harness.subscription("sis", ("SIS",)))
    assert (await bus.backlog(), await bus.unclaimed()) == ({"ocr": 1, "sis": 2}, {})


@pytest.mark.parametrize("moment", ["lent", "answered"])
async def test_a_cancelled_receiver_gives_back_what_was_on_its_way(harness: BusHarness, moment: str) -> None:
    """Cancelled while messages are lent to it, or before it hears so: they wait as if never lent."""
    await harness.take()
    await harness.publish(*(harness.message() for _ in range(4)))
    bus = harness.bus
    assert isinstance(bus, SqliteBus)
    receiver = asyncio.create_task(harness.take(limit=2))
    tokens, changed = bus._new_token, bus._writer._changed

    def cancel_and(go_on: Callable[[], Any]) -> Callable[[], Any]:
        def both() -> Any:
            receiver.cancel()
            return go_on()

        return both

    if moment == "lent":
        bus._new_token = cancel_and(tokens)
    else:
        bus._writer._changed = cancel_and(changed)
    await asyncio.wait([receiver], timeout=30)
    assert receiver.cancelled()
    bus._new_token, bus._writer._changed = tokens, changed
    got = await harness.take()
    assert ids(got) == ["m-1", "m-2", "m-3", "m-4"]
    assert {each.delivery_count for each in got} == {1}
    assert await harness.settle(got, Settlement.COMPLETE) == [True] * 4


async def test_who_waits_hears_that_the_file_is_gone_bad(
    harness: BusHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver does not wait out its time at a bus that cannot be read."""
    waiting = harness.listen()
    bus = harness.bus
    assert isinstance(bus, SqliteBus)
    await _until(lambda: bool(bus._watch.places()))

    def broken(*_: object) -> int:
        raise Unavailable("unreadable", code="BUS_UNAVAILABLE")

    monkeypatch.setattr(bus._reading, "_ask", broken)
    with pytest.raises(Unavailable):
        await asyncio.wait_for(waiting, 5)
    monkeypatch.undo()


# --- a file that lasts


async def test_a_restart_forgets_nothing(harness: BusHarness, another: Open, clock: Hand) -> None:
    """What waits, what is lent and what is dead is so after closing and opening the file."""
    await harness.publish(*(harness.message() for _ in range(3)), harness.message(subject="SIS"))
    await harness.settle(await harness.take(limit=1), Settlement.DEAD_LETTER, "bad")
    lent = await harness.take(limit=1)
    await harness.bus.close()
    bus = another()
    again = _harness(bus, clock)
    assert [dead.message.message_id for dead in await bus.dead_letters()] == ["m-1"]
    assert (await bus.backlog(), await bus.unclaimed()) == ({"ocr": 1}, {"SIS": 1})
    assert await again.settle(lent, Settlement.COMPLETE) == [True]
    assert ids(await again.take()) == ["m-3"]


async def test_closing_finishes_what_was_asked(harness: BusHarness, another: Open) -> None:
    """A publish under way when the bus closes is answered, and then it is there."""
    publishing = asyncio.create_task(harness.publish(harness.message()))
    await turn()
    await harness.bus.close()
    await publishing
    assert ids(await another().receive(harness.subscription(), limit=9, wait=0)) == ["m-1"]


async def test_the_file_stops_growing(harness: BusHarness, tmp_path: Path) -> None:
    """Settled messages leave their room to the next, and only the newest dead letters are kept."""
    sizes = []
    for _ in range(10):
        for outcome in (Settlement.COMPLETE, Settlement.DEAD_LETTER):
            await harness.publish(*(harness.message(padding="x" * 500) for _ in range(100)))
            assert await harness.settle(await harness.take(limit=100), outcome) == [True] * 100
        sizes.append(_pages(harness))
    assert sizes[-1] < sizes[0] * 1.5
    dead = await harness.bus.dead_letters()
    assert [each.message.message_id for each in dead] == [f"m-{number}" for number in range(2000, 1980, -1)]


def _pages(harness: BusHarness) -> int:
    assert isinstance(harness.bus, SqliteBus)
    return int(harness.bus._writer._connection.pragma("page_count"))
