"""How the table and the queues are made, for local stacks and tests. Production has them from Terraform."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from botocore.exceptions import ClientError

from lucius.errors import Unavailable
from lucius.lifebook.adapters.aws import names as n
from lucius.lifebook.adapters.aws.connecting import Clients
from lucius.lifebook.adapters.aws.faults import CODE, code_of, mapped

READY_LOOKS = 120
READY_PAUSE = 0.5


def table_definition(name: str = n.TABLE) -> dict[str, Any]:
    """What `CreateTable` is asked for."""
    texts = (n.KEY, *n.WORKSPACE_INDEX_KEYS, n.SWEEP_INDEX_KEYS[0])
    shown = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(n.WORKSPACE_INDEX_SHOWS)}
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": n.KEY, "KeyType": "HASH"}],
        "AttributeDefinitions": [
            *({"AttributeName": text, "AttributeType": "S"} for text in texts),
            {"AttributeName": n.SWEEP_INDEX_KEYS[1], "AttributeType": "N"},
        ],
        "GlobalSecondaryIndexes": [
            _index(n.WORKSPACE_INDEX, n.WORKSPACE_INDEX_KEYS, shown),
            _index(n.SWEEP_INDEX, n.SWEEP_INDEX_KEYS, {"ProjectionType": "KEYS_ONLY"}),
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": n.STREAM},
    }


def queue_attributes(dead_letters_arn: str | None = None) -> dict[str, str]:
    """What `CreateQueue` is asked for; without an address it is the queue of dead letters itself."""
    attributes = {
        "VisibilityTimeout": str(n.VISIBILITY_SECONDS),
        "MessageRetentionPeriod": str(n.RETENTION_SECONDS),
    }
    if dead_letters_arn is not None:
        policy = {"deadLetterTargetArn": dead_letters_arn, "maxReceiveCount": n.RECEIVES}
        attributes["RedrivePolicy"] = json.dumps(policy)
    return attributes


async def provision(
    clients: Clients, *, sleep: Callable[[float], Awaitable[None]], names: n.Names | None = None
) -> None:
    """Make the table and both queues, as far as they are missing."""
    called = names or n.Names()
    await _make_table(clients.dynamodb, called.table, sleep)
    dead = await _make_queue(clients.sqs, called.dead_letters, queue_attributes())
    await _make_queue(clients.sqs, called.queue, queue_attributes(dead))


async def _make_table(client: Any, name: str, sleep: Callable[[float], Awaitable[None]]) -> None:
    with mapped(f"make the table {name}"):
        try:
            await client.create_table(**table_definition(name))
        except ClientError as error:
            if code_of(error) != "ResourceInUseException":
                raise
        for _ in range(READY_LOOKS):
            if (await client.describe_table(TableName=name))["Table"]["TableStatus"] == "ACTIVE":
                break
            await sleep(READY_PAUSE)
        else:
            raise Unavailable(f"The table {name} does not become active", code=CODE)
        wanted = {"Enabled": True, "AttributeName": n.TTL}
        now = (await client.describe_time_to_live(TableName=name))["TimeToLiveDescription"]
        if now["TimeToLiveStatus"] in {"DISABLED", "DISABLING"}:
            await client.update_time_to_live(TableName=name, TimeToLiveSpecification=wanted)


async def _make_queue(client: Any, name: str, attributes: dict[str, str]) -> str:
    """The address (ARN) of the queue, made unless it is there."""
    with mapped(f"make the queue {name}"):
        url = (await client.create_queue(QueueName=name, Attributes=attributes))["QueueUrl"]
        told = await client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(told["Attributes"]["QueueArn"])


def _index(name: str, keys: tuple[str, str], projection: dict[str, Any]) -> dict[str, Any]:
    schema = [
        {"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=True)
    ]
    return {"IndexName": name, "KeySchema": schema, "Projection": projection}
