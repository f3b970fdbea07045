"""Writes whose answers get lost, and a table that is busy or away: no guess, no double, no silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from lucius.errors import Broken, Unavailable
from lucius.lifebook.adapters.aws.connecting import Clients
from lucius.lifebook.adapters.aws.runs import DynamoRuns
from lucius.lifebook.ports.store import RunConflictError
from lucius.testing.lifebook.runs import canceled, new_run, taken
from lucius.testing.lifebook.store_harness import StoreHarness
from lucius.testing.ministack import Ministack, ministack
from lucius.testing.processes import free_port
from tests.lifebook.aws_faults import Lose, Road, faulty
from tests.lifebook.aws_world import connected, make_table, new_names, runs_in

COMMIT, CREATE = "UpdateItem", "TransactWriteItems"


@pytest.fixture(scope="module")
def aws() -> Iterator[Ministack]:
    """One for all tests here."""
    with ministack() as server:
        yield server


@pytest.fixture
async def road(aws: Ministack) -> AsyncIterator[Road]:
    """The way to it."""
    async with faulty(aws.port) as found:
        yield found


@asynccontextmanager
async def store_behind(road: Road, aws: Ministack, *, tries: int = 1) -> AsyncIterator[StoreHarness]:
    """A store whose requests take that road; `tries` are the client's own."""
    table = new_names().table
    async with (
        connected(aws, services=["dynamodb"]) as straight,
        connected(aws, services=["dynamodb"], endpoint=road.endpoint, tries=tries) as clients,
    ):
        await make_table(straight, table)

        async def another() -> DynamoRuns:
            return runs_in(straight, table)

        yield StoreHarness(store=runs_in(clients, table), another=another)


@pytest.fixture
async def harness(road: Road, aws: Ministack) -> AsyncIterator[StoreHarness]:
    """A store whose client tries once."""
    async with store_behind(road, aws) as found:
        yield found


async def test_a_commit_whose_answer_is_lost_is_known(harness: StoreHarness, road: Road) -> None:
    """It was written: the writer is told so, and it was written once."""
    run = await harness.open()
    road.orders[COMMIT] = [Lose.ANSWER]
    held = await harness.take(run)
    assert await harness.stored(run.job_id) == held
    assert road.seen[COMMIT] == 1


async def test_a_commit_that_the_client_repeats_is_known(road: Road, aws: Ministack) -> None:
    """The client tries again by itself and meets its own write: that is no conflict."""
    async with store_behind(road, aws, tries=3) as harness:
        run = await harness.open()
        road.orders[COMMIT] = [Lose.ANSWER]
        held = await harness.take(run)
        assert await harness.stored(run.job_id) == held
        assert road.seen[COMMIT] == 2


async def test_a_commit_that_never_arrived_is_sent_again(harness: StoreHarness, road: Road) -> None:
    """It was not written: it is, on the second try."""
    run = await harness.open()
    road.orders[COMMIT] = [Lose.REQUEST]
    held = await harness.take(run)
    assert await harness.stored(run.job_id) == held
    assert road.seen[COMMIT] == 2


async def test_a_commit_that_was_overtaken_in_the_dark_is_a_conflict(
    harness: StoreHarness, road: Road
) -> None:
    """Neither ours nor the one before: somebody has to read and decide again."""
    run = await harness.open()
    other, decision = await harness.another(), taken(run)

    async def overtake() -> None:
        await other.commit(decision.run, canceled(decision.run))

    road.orders[COMMIT], road.meanwhile = [Lose.ANSWER], overtake
    with pytest.raises(RunConflictError):
        await harness.store.commit(run, decision)
    assert await harness.stored(run.job_id) == canceled(decision.run).run


@pytest.mark.parametrize("tries", [1, 3])
async def test_an_end_whose_answer_is_lost_settles_once(road: Road, aws: Ministack, tries: int) -> None:
    """One settlement and one event, and the writer knows."""
    async with store_behind(road, aws, tries=tries) as harness:
        run = await harness.open(opening=1000)
        road.orders[CREATE] = [Lose.ANSWER]
        await harness.cancel(run)
        assert (await harness.wallet()).available == 1000
        assert [event.job_id for event in await harness.events()] == [run.job_id]


@pytest.mark.parametrize("tries", [1, 3])
async def test_a_creation_whose_answer_is_lost_is_fresh(road: Road, aws: Ministack, tries: int) -> None:
    """The run was made by this call, whoever repeated it; its credits are held once."""
    async with store_behind(road, aws, tries=tries) as harness:
        await harness.open(opening=2000)
        road.orders[CREATE] = [Lose.ANSWER]
        run = await harness.open(key="order-7")
        assert await harness.stored(run.job_id) == run
        assert (await harness.wallet()).reserved == 1200


async def test_a_deposit_whose_answer_is_lost_counts_once(harness: StoreHarness, road: Road) -> None:
    """Credits are not made by a bad line."""
    road.orders[CREATE] = [Lose.ANSWER]
    assert (await harness.store.deposit("acme", 500, deposit_id="one")).deposited == 500


async def test_transactions_that_meet_are_tried_again(harness: StoreHarness, road: Road) -> None:
    """Two runs of one workspace that start in one moment both start."""
    await harness.open()
    reasons = [{"Code": "None"}, {"Code": "None"}, {"Code": "TransactionConflict"}]
    met = _error("TransactionCanceledException", CancellationReasons=reasons)
    road.orders[CREATE] = [met, met]
    await harness.open()
    assert road.seen[CREATE] == 2 + 3  # the first without a wallet and with one; the second three times
    assert (await harness.wallet()).reserved == 1200


async def test_a_table_that_stays_busy_is_unavailable(road: Road, aws: Ministack) -> None:
    """Waits grow, and end."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    busy = _error("TransactionConflictException")
    async with connected(aws, services=["dynamodb"], endpoint=road.endpoint, tries=1) as clients:
        store = DynamoRuns(clients.dynamodb, sleep=sleep, chance=lambda: 0.5, new_id=lambda: "w")
        road.orders[COMMIT] = [busy] * 100
        run = new_run()
        with pytest.raises(Unavailable, match="busy"):
            await store.commit(run, taken(run))
    assert waits == sorted(waits)
    assert 0 < waits[0] < waits[-1] <= 1


async def test_a_malformed_request_is_broken(harness: StoreHarness) -> None:
    """An item that DynamoDB refuses for ever is not tried for ever."""
    await harness.open()
    with pytest.raises(Broken):
        await harness.create(new_run(input={"text": "x" * 500_000}))


async def test_a_table_that_is_not_there_is_unavailable(aws: Ministack) -> None:
    """A mistake of whoever installed it; it may be put right."""
    async with connected(aws, services=["dynamodb"], tries=1) as clients:
        await _unavailable(clients)


async def test_an_aws_that_is_away_is_unavailable(aws: Ministack) -> None:
    """Nobody listens: every use says so, with one code."""
    nowhere = f"http://127.0.0.1:{free_port()}"
    async with connected(aws, endpoint=nowhere, services=["dynamodb"], tries=1) as clients:
        await _unavailable(clients)


async def _unavailable(clients: Clients) -> None:
    store, run = runs_in(clients, "no-such-table"), new_run()
    for call in (
        store.get(run.job_id),
        store.create(run, opening=1),
        store.commit(run, taken(run)),
        store.commit(run, canceled(run)),
        store.runs("acme", limit=1),
        store.due(1, 1),
        store.untold(1),
        store.deposit("acme", 1, deposit_id="one"),
    ):
        with pytest.raises(Unavailable) as caught:
            await asyncio.wait_for(call, 30)
        assert caught.value.code == "LIFEBOOK_UNAVAILABLE"


def _error(code: str, **more: Any) -> dict[str, Any]:
    return {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "so it was ordered", **more}
