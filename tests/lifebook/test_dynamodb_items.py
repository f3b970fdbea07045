"""What is in the table, read as anybody else reads it: with plain boto3, by the contract's names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Key

from lucius.lifebook.adapters.aws.connecting import Clients
from lucius.lifebook.adapters.aws.table import Table
from lucius.lifebook.adapters.aws.tables import provision
from lucius.lifebook.core.events import event_of
from lucius.lifebook.core.states import Status
from lucius.lifebook.core.wallet import MOST
from lucius.lifebook.ports.store import RunConflictError
from lucius.testing.lifebook.runs import NOW, canceled, new_run, step_done, taken
from lucius.testing.lifebook.store_harness import StoreHarness
from lucius.testing.lifebook.trigger_stores import schedule
from lucius.testing.ministack import Ministack, ministack
from tests.lifebook.aws_world import connected, make_table, new_names, plain, runs_in, triggers_in
from tests.lifebook.test_item import FLOOR

CONTRACT: dict[str, type] = {
    **dict.fromkeys(("job_id", "workspace_id", "user_id", "workflow_id", "trigger_type", "status"), str),
    **dict.fromkeys(("attempts", "max_attempts", "step_cursor", "steps_total"), Decimal),
    **dict.fromkeys(("credits_estimate", "credits_reserved", "credits_spent"), Decimal),
    **dict.fromkeys(("idempotency_key", "last_error_code", "last_error_message"), str),
    **dict.fromkeys(("created_at", "updated_at", "started_at", "completed_at"), str),
    "ttl_at": Decimal,
}


class World:
    """A store, and the table as others see it."""

    def __init__(self, aws: Ministack, clients: Clients, name: str) -> None:
        self.clients = clients
        self.name = name
        self.store = StoreHarness(store=runs_in(clients, name), another=self._another)
        self.table = boto3.resource("dynamodb", **aws.arguments()).Table(name)

    async def _another(self) -> Any:
        return runs_in(self.clients, self.name)

    def item(self, key: str) -> dict[str, Any] | None:
        """An item, as boto3 shows it."""
        found: dict[str, Any] | None = self.table.get_item(Key={"job_id": key}, ConsistentRead=True).get(
            "Item"
        )
        return found


@pytest.fixture(scope="module")
def aws() -> Iterator[Ministack]:
    """One for all tests here."""
    with ministack() as server:
        yield server


@pytest.fixture
async def world(aws: Ministack) -> AsyncIterator[World]:
    """An empty table."""
    name = new_names().table
    async with connected(aws, services=["dynamodb"]) as clients:
        await make_table(clients, name)
        found = World(aws, clients, name)
        yield found
        found.table.meta.client.close()


async def test_an_item_has_the_contracts_names_and_types(world: World) -> None:
    """Whoever knows the contract only can read a run that has ended."""
    run = await world.store.take(await world.store.open(costs=(150, 25)))
    run = await world.store.write(run, step_done(run))
    run = await world.store.cancel(run)
    item = world.item(run.job_id)
    assert item is not None
    assert CONTRACT.keys() - item.keys() == {"last_error_message"}  # nobody gave a reason
    assert {name: type(item[name]) for name in CONTRACT.keys() & item.keys()} == {
        name: kind for name, kind in CONTRACT.items() if name != "last_error_message"
    }
    assert (item["status"], item["step_cursor"], item["steps_total"]) == ("canceled", 1, 2)
    assert (item["credits_estimate"], item["credits_spent"]) == (Decimal("1.75"), Decimal("1.5"))
    assert item["created_at"] == "2026-01-27T10:02:00.000Z"
    assert item["ttl_at"] == run.ttl_at


async def test_the_index_of_workspaces_shows_what_the_contract_says(world: World) -> None:
    """Its keys and four fields, newest first; nothing but runs."""
    runs = [await world.store.open(created_at=NOW + at) for at in range(2)]
    await world.store.cancel(runs[0])
    found = world.table.query(
        IndexName="workspace_created_at",
        KeyConditionExpression=Key("workspace_id").eq("acme"),
        ScanIndexForward=False,
    )["Items"]
    assert [item["job_id"] for item in found] == [runs[1].job_id, runs[0].job_id]
    shown = {"status", "workflow_id", "trigger_type", "credits_estimate"}
    assert {*found[0]} == {*found[1]} == {"job_id", "workspace_id", "created_at"} | shown


async def test_a_write_makes_no_ghost(world: World) -> None:
    """A run that has gone stays gone, whatever its worker still writes."""
    run = await world.store.open()
    world.table.delete_item(Key={"job_id": run.job_id})
    for decision in (taken(run), canceled(run)):
        with pytest.raises(RunConflictError):
            await world.store.store.commit(run, decision)
    assert world.item(run.job_id) is None
    assert world.item(f"event#{run.job_id}") is None


async def test_what_others_added_to_an_item_stays(world: World) -> None:
    """Fields that we do not know are not ours to remove."""
    run = await world.store.open()
    world.table.update_item(
        Key={"job_id": run.job_id},
        UpdateExpression="SET priority = :high",
        ExpressionAttributeValues={":high": "high"},
    )
    await world.store.complete(run)
    assert (world.item(run.job_id) or {})["priority"] == "high"


async def test_a_key_outlives_its_run_by_nothing(world: World) -> None:
    """A key whose run has gone is free: sixteen take it at once, one has it."""
    run = await world.store.open(key="order-7")
    await world.store.cancel(run)
    world.table.delete_item(Key={"job_id": run.job_id})
    made = await asyncio.gather(*(world.store.create(new_run(key="order-7")) for _ in range(16)))
    assert [created.fresh for created in made].count(True) == 1
    assert len({created.run.job_id for created in made}) == 1
    assert (await world.store.wallet()).reserved == 600


async def test_an_end_leaves_nothing_that_stays_for_ever(world: World) -> None:
    """The key goes with its run, the event too once it has been told; neither waits in the sweep index."""
    run = await world.store.cancel(await world.store.open(key="order-7"))
    assert (world.item(run.unique_id) or {})["ttl_at"] == run.ttl_at
    assert "ttl_at" not in (world.item(f"event#{run.job_id}") or {"ttl_at": None})
    await world.store.store.told(event_of(run), NOW)
    event = world.item(f"event#{run.job_id}") or {}
    assert event["ttl_at"] == run.ttl_at
    assert world.table.scan(IndexName="sweep_due_at")["Items"] == []


async def test_a_run_of_the_contracts_floor_is_carried_on(world: World) -> None:
    """An item that somebody else wrote is taken and completed; from then on it is like ours."""
    item = FLOOR | {"credits_estimate": 0, "credits_reserved": 0, "credits_spent": 0}
    world.table.put_item(Item=item)
    run = await world.store.complete(await world.store.stored(item["job_id"]))
    assert run.status is Status.COMPLETED
    assert await world.store.stored(run.job_id) == run
    assert (world.item(run.job_id) or {})["step_cursor"] == 3
    assert [event.job_id for event in await world.store.events()] == [run.job_id]


async def test_two_workers_cannot_both_take_a_run_of_the_floor(world: World) -> None:
    """It has no version yet, and still only one writer wins."""
    world.table.put_item(Item=FLOOR)
    run = await world.store.stored(FLOOR["job_id"])
    await world.store.take(run)
    with pytest.raises(RunConflictError):
        await world.store.store.commit(run, taken(run, "late"))


async def test_runs_and_triggers_never_meet(world: World) -> None:
    """A workspace with a strange name sees no schedules of others among its runs."""
    await triggers_in(world.clients, world.name).put_schedule(schedule(), before=None)
    assert (await world.store.store.runs("schedule#acme", limit=5)).runs == ()


async def test_more_items_than_one_request_takes_are_read(world: World) -> None:
    """DynamoDB reads a hundred at once; whoever asks for more gets them all."""
    runs = [await world.store.open() for _ in range(3)]
    table = Table(world.clients.dynamodb, world.name, sleep=asyncio.sleep, chance=lambda: 0.5)
    wanted = [f"missing-{number}" for number in range(250)]
    for at, run in enumerate(runs):
        wanted.insert(at * 120, run.job_id)
    assert {*await table.get_all(wanted)} == {run.job_id for run in runs}


async def test_provisioning_makes_what_the_contract_names(aws: Ministack) -> None:
    """Table, TTL, stream, queue and dead letters; a second time changes nothing."""
    names = new_names()
    async with connected(aws, services=["dynamodb", "sqs"]) as clients:
        for _ in range(2):
            await provision(clients, names=names, sleep=asyncio.sleep)
    with plain(aws, "dynamodb") as dynamodb, plain(aws, "sqs") as sqs:
        table = dynamodb.describe_table(TableName=names.table)["Table"]
        forgets = dynamodb.describe_time_to_live(TableName=names.table)["TimeToLiveDescription"]
        url = sqs.get_queue_url(QueueName=names.queue)["QueueUrl"]
        queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert forgets == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl_at"}
    assert (queue["VisibilityTimeout"], queue["MessageRetentionPeriod"]) == ("90", "1209600")
    assert '"maxReceiveCount": 8' in queue["RedrivePolicy"]
    assert names.dead_letters in queue["RedrivePolicy"]


async def test_a_wallet_may_hold_more_than_one_deposit_brings(world: World) -> None:
    """The bound of an amount is no bound of a sum: what was paid in can be looked at."""
    await world.store.store.deposit("rich", MOST, deposit_id="invoice-1")
    wallet = await world.store.store.deposit("rich", MOST, deposit_id="invoice-2")
    assert wallet.available == wallet.deposited == 2 * MOST


async def test_an_item_that_is_no_run_holds_up_no_other(world: World) -> None:
    """A record that somebody has broken is left out of what is due; the others are there."""
    broken, sound = [await world.store.open() for _ in range(2)]
    world.table.update_item(
        Key={"job_id": broken.job_id},
        UpdateExpression="SET credits_spent = :half",
        ExpressionAttributeValues={":half": Decimal("0.005")},
    )
    assert [run.job_id for run in await world.store.store.due(NOW * 2, 10)] == [sound.job_id]
