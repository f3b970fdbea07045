"""Lifebook runs on an AWS of the loopback: one table for all tests, queues of its own for each.

`audit` looks at the whole table as it lies there, with boto3, and says what does not add up: credits, events,
keys. It holds whatever was done to workers, so that every test ends with it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
from msgspec import json

from lucius.lifebook.adapters.aws.names import Names
from lucius.lifebook.adapters.aws.tables import provision
from lucius.lifebook.desk import LifebookDesk
from lucius.runtime.building.lifebook import Lifebook, open_lifebook
from lucius.runtime.settings import Settings
from lucius.testing.ministack import Ministack
from tests.acceptance.lifebook_processes import FLOWS, LEASE, Workers, until
from tests.lifebook.aws_world import connected, plain

COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
ENDED = frozenset({"completed", "dead", "canceled"})


class Cloud:
    """Table and queues, the test's own side of the runs, and the workers."""

    def __init__(self, aws: Ministack, names: Names, lifebook: Lifebook, workers: Workers, sqs: Any) -> None:
        self.aws = aws
        self.sqs = sqs
        self.names = names
        self.lifebook = lifebook
        self.workers = workers

    @property
    def desk(self) -> LifebookDesk:
        """As the API has it."""
        return self.lifebook.desk

    async def provision(self) -> None:
        """Make what is missing."""
        async with connected(self.aws) as clients:
            await provision(clients, sleep=asyncio.sleep, names=self.names)

    def count(self, queue: str) -> int:
        """Messages in a queue, lent ones included: what the alarm looks at."""
        url = self.sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        told = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(COUNTS))["Attributes"]
        return sum(int(told[name]) for name in COUNTS)

    async def empties(self, queue: str) -> None:
        """Wait until nothing is in a queue."""

        async def empty() -> bool:
            return self.count(queue) == 0

        await until(empty, f"an empty {queue}")

    async def told(self, job_id: str) -> None:
        """Wait until the event of a run has been told."""
        table = _table(self.aws, self.names.table)

        async def noted() -> bool:
            answer = table.get_item(Key={"job_id": f"event#{job_id}"}, ConsistentRead=True)
            return "told_at" in answer.get("Item", {})

        await until(noted, f"the event of {job_id} to be told")


def variables(aws: Ministack, names: Names) -> dict[str, str]:
    """What leads a process to all of it."""
    return aws.environment() | {
        "LUCIUS_LIFEBOOK_BACKEND": "aws",
        "LUCIUS_LIFEBOOK_ENDPOINT": aws.endpoint,
        "LUCIUS_LIFEBOOK_TABLE": names.table,
        "LUCIUS_LIFEBOOK_QUEUE": names.queue,
        "LUCIUS_LIFEBOOK_DLQ": names.dead_letters,
    }


@asynccontextmanager
async def cloud(aws: Ministack, names: Names, directory: Path, **more: str) -> AsyncIterator[Cloud]:
    """All of it, for a block; the variables that hold credentials must be set. `more`: for workers."""
    settings = Settings(
        lifebook_backend="aws",
        lifebook_endpoint=aws.endpoint,
        lifebook_table=names.table,
        lifebook_queue=names.queue,
        lifebook_dlq=names.dead_letters,
        lifebook_workflows=FLOWS,
        lifebook_lease_seconds=LEASE,
        lifebook_concurrency=0,
        lifebook_opening_credits=10**6,
    )
    lifebook = await open_lifebook(settings)
    assert lifebook is not None
    try:
        with Workers(directory, variables(aws, names) | more) as workers, plain(aws, "sqs") as sqs:
            yield Cloud(aws, names, lifebook, workers, sqs)
    finally:
        await lifebook.backend.close()


def audit(aws: Ministack, table: str) -> list[str]:
    """What does not add up in a whole table."""
    items = _items(aws, table)
    runs = [item for item in items if "#" not in item["job_id"]]
    others = {item["job_id"]: item for item in items if "#" in item["job_id"]}
    found = [f"{run['job_id']} is still {run['status']}" for run in runs if run["status"] not in ENDED]
    spent: dict[str, Decimal] = defaultdict(Decimal)
    for run in runs:
        spent[run["workspace_id"]] += run["credits_spent"]
        done = [step["credits"] for step in run["steps"]][: int(run["step_cursor"])]
        if run["credits_spent"] != sum(done) or run["credits_reserved"] != 0:
            found.append(f"{run['job_id']} spent {run['credits_spent']} for {done}")
        if others.get(run["unique_id"], {}).get("run_id") != run["job_id"]:
            found.append(f"{run['job_id']} does not hold its key")
    events = Counter(json.decode(item["event"])["job_id"] for key, item in others.items() if "event" in item)
    if events != Counter(run["job_id"] for run in runs):
        found.append(f"events do not match runs: {events}")
    for workspace_id, amount in spent.items():
        wallet = others[f"wallet#{workspace_id}"]
        if (wallet["spent"], wallet["reserved"]) != (amount, 0):
            found.append(f"{workspace_id} spent {amount}, its wallet says {wallet}")
        if wallet["deposited"] != wallet["available"] + wallet["reserved"] + wallet["spent"]:
            found.append(f"{workspace_id} is not balanced: {wallet}")
    return found


def _table(aws: Ministack, name: str) -> Any:
    return boto3.resource("dynamodb", **aws.arguments()).Table(name)


def _items(aws: Ministack, name: str) -> list[dict[str, Any]]:
    table = _table(aws, name)
    items: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = table.scan(ConsistentRead=True, **more)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
