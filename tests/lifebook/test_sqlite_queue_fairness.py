from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import apsw
import msgspec
import pytest

from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteQueue, lending
from lucius.lifebook.core.run import Envelope, envelope_of
from lucius.lifebook.ports.queue import Delivery
from lucius.testing.lifebook.runs import new_run
from tests.lifebook.sqlite_lifebook import Hand, new_queue, opened

LOAN = 60


@pytest.fixture
def clock() -> Hand:
    """A clock that is moved by hand."""
    return Hand()


@pytest.fixture
async def file(clock: Hand) -> AsyncIterator[LifebookFile]:
    """An empty file in memory."""
    async with opened(":memory:", clock) as once_more:
        yield once_more()


async def _send(queue: SqliteQueue, workspace_id: str, number: int = 1) -> None:
    for _ in range(number):
        await queue.send(envelope_of(new_run(workspace_id=workspace_id)), send_no=1)


async def _next(queue: SqliteQueue) -> tuple[str, Delivery]:
    """Whose message comes next, and the message."""
    [delivery] = await queue.receive(1, wait_seconds=0, hidden_seconds=LOAN)
    return msgspec.json.decode(delivery.body, type=Envelope).workspace_id, delivery


async def test_a_long_line_holds_nobody_up(file: LifebookFile) -> None:
    """Who comes late with one message does not wait behind twenty of another."""
    queue = new_queue(file)
    await _send(queue, "acme", 20)
    await _send(queue, "zeta")
    assert [(await _next(queue))[0] for _ in range(3)] == ["acme", "zeta", "acme"]


async def test_who_has_the_fewest_comes_next(file: LifebookFile) -> None:
    """A workspace whose runs take long does not collect all workers: what is lent counts."""
    queue = new_queue(file)
    await _send(queue, "acme", 10)
    held = [(await _next(queue))[1] for _ in range(2)]
    await _send(queue, "zeta", 10)
    for _ in range(3):  # zeta's runs are quick: it is the one with fewer, each time
        name, delivery = await _next(queue)
        assert name == "zeta"
        await queue.delete(delivery)
    for delivery in held:
        await queue.delete(delivery)
    assert (await _next(queue))[0] == "acme"


async def test_equals_take_turns(file: LifebookFile) -> None:
    """With nothing lent, who was served longest ago comes next; within a workspace the oldest."""
    queue = new_queue(file)
    for name in ("acme", "beta", "zeta"):
        await _send(queue, name, 3)
    served = []
    ages: dict[str, list[str]] = {"acme": [], "beta": [], "zeta": []}
    for _ in range(9):
        name, delivery = await _next(queue)
        served.append(name)
        ages[name].append(msgspec.json.decode(delivery.body, type=Envelope).job_id)
        await queue.delete(delivery)
    assert served == ["acme", "beta", "zeta"] * 3
    assert all(len(set(jobs)) == 3 for jobs in ages.values())


async def test_what_was_put_away_does_not_count(file: LifebookFile, clock: Hand) -> None:
    """Messages that wait for their next try stop counting as lent; those that are worked on do not."""
    queue = new_queue(file)
    await _send(queue, "acme", 4)
    for _ in range(2):
        await queue.hide((await _next(queue))[1], 1800)
    await _send(queue, "zeta", 4)
    _, worked_on = await _next(queue)
    for _ in range(3):
        clock.advance(LOAN * 500)
        await queue.hide(worked_on, LOAN)
    for _ in range(2):  # acme has none at work and zeta has one, though acme was served last
        name, delivery = await _next(queue)
        assert name == "acme"
        await queue.delete(delivery)


async def test_a_receiver_that_goes_away_gives_back(file: LifebookFile) -> None:
    """A message on its way to somebody who no longer waits is lent to the next, as for the first time."""
    queue = new_queue(file)
    await _send(queue, "acme")
    receiver = asyncio.create_task(queue.receive(1, wait_seconds=5, hidden_seconds=LOAN))
    await asyncio.sleep(0)
    receiver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiver
    assert (await _next(queue))[1].receives == 1


async def test_the_counts_follow_the_messages(file: LifebookFile, clock: Hand) -> None:
    """Whatever is sent, lent, hidden, deleted or forgotten: lanes count what the messages say."""
    chance = random.Random(7)
    queues = [new_queue(file, max_receives=3), new_queue(file, "dead")]
    held: list[tuple[SqliteQueue, Delivery]] = []
    for _ in range(600):
        verb, queue = chance.randrange(6), chance.choice(queues)
        if verb == 0:
            envelope = envelope_of(new_run(workspace_id=chance.choice("abc")))
            await queues[0].send(envelope, send_no=1, delay_seconds=chance.choice((0, 0, 5)))
        elif verb in {1, 2}:
            hidden = chance.choice((0, 1, 20))
            lent = await queue.receive(chance.randrange(1, 4), wait_seconds=0, hidden_seconds=hidden)
            held += [(queue, delivery) for delivery in lent]
        elif verb == 3:
            clock.advance(chance.choice((100, 1000, 10_000)))
        elif held:
            owner, delivery = chance.choice(held)
            await (owner.delete(delivery) if verb == 4 else owner.hide(delivery, chance.choice((0, 3, 100))))
        assert await file.read(_counted) == await file.read(_actual)
    assert sum(ready for ready, _ in (await file.read(_actual)).values()) > 0


Counts = dict[tuple[object, object], tuple[int, int]]


def _counted(connection: apsw.Connection) -> Counts:
    rows = connection.execute("SELECT queue, workspace_id, ready, lent FROM lanes WHERE ready OR lent")
    return {(queue, name): (ready, lent) for queue, name, ready, lent in rows}


def _actual(connection: apsw.Connection) -> Counts:
    rows = connection.execute(
        "SELECT queue, workspace_id, sum(hidden_until IS NULL) AS ready, sum(lent_until IS NOT NULL) AS lent"
        " FROM messages GROUP BY 1, 2 HAVING ready OR lent"
    )
    return {(queue, name): (ready, lent) for queue, name, ready, lent in rows}


async def test_a_long_queue_costs_no_more(file: LifebookFile) -> None:
    """Lending and settling take about as many steps of SQLite with 10,000 waiting messages as with 20."""
    queue = new_queue(file)
    await _send(queue, "w0", 20)
    short = await _steps(file, queue)
    names = [f"w{number % 200}" for number in range(10_000)]
    await asyncio.gather(*(_send(queue, name) for name in names))
    assert await _steps(file, queue) < 3 * short
    assert (await queue.depth()).visible == 10_018


async def _steps(file: LifebookFile, queue: SqliteQueue) -> int:
    """How many steps of SQLite's machine it takes to lend a message and delete it."""
    seen = 0

    def step() -> bool:
        nonlocal seen
        seen += 1
        return False

    file._connection.set_progress_handler(step, 1)
    _, delivery = await _next(queue)
    await queue.delete(delivery)
    file._connection.set_progress_handler(None)
    return seen


async def test_no_look_scans_a_table(file: LifebookFile) -> None:
    """Every statement on messages and lanes goes through an index."""
    found = {name: text for name, text in vars(lending).items() if str(text).startswith(("SELECT", "UPDATE"))}

    def plans(connection: apsw.Connection) -> str:
        lines = []
        for text in found.values():
            values = (1, 2) if "?1" in text else (1,) * text.count("?")
            rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", values)
            lines += [str(row[3]) for row in rows]
        return "\n".join(lines)

    told = await file.read(plans)
    assert len(found) >= 8
    assert "SEARCH messages" in told
    assert "SCAN messages" not in told
    assert "SCAN lanes" not in told
