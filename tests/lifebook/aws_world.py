"""What the tests against AWS share: clients of a ministack, and a table of its own for each test."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any
from uuid import uuid4

import boto3
from aiobotocore.session import AioSession

from lucius.lifebook.adapters.aws.connecting import Clients, connect
from lucius.lifebook.adapters.aws.names import Names
from lucius.lifebook.adapters.aws.runs import DynamoRuns
from lucius.lifebook.adapters.aws.tables import table_definition
from lucius.lifebook.adapters.aws.triggers import DynamoTriggers
from lucius.testing.ministack import Ministack

_numbers = count(1)
_session = AioSession()


def new_names() -> Names:
    """Names that no other test has."""
    number = next(_numbers)
    return Names(table=f"jobs-{number}", queue=f"queue-{number}", dead_letters=f"dlq-{number}")


@asynccontextmanager
async def connected(aws: Ministack, *, endpoint: str | None = None, **more: Any) -> AsyncIterator[Clients]:
    """Clients for a block."""
    given = aws.arguments()
    clients = await connect(
        endpoint=endpoint or aws.endpoint,
        access_key_id=given["aws_access_key_id"],
        secret_access_key=given["aws_secret_access_key"],
        session=_session,
        **more,
    )
    try:
        yield clients
    finally:
        await clients.close()


@contextmanager
def plain(aws: Ministack, service: str) -> Iterator[Any]:
    """A client as anybody else would use it."""
    client = boto3.client(service, **aws.arguments())
    try:
        yield client
    finally:
        client.close()


async def make_table(clients: Clients, name: str) -> None:
    """A table that forgets nothing: the suites play at a time that has passed."""
    await clients.dynamodb.create_table(**table_definition(name))


def runs_in(clients: Clients, table: str) -> DynamoRuns:
    """The store."""
    return DynamoRuns(
        clients.dynamodb,
        table=table,
        sleep=asyncio.sleep,
        chance=random.random,
        new_id=lambda: str(uuid4()),
    )


def triggers_in(clients: Clients, table: str) -> DynamoTriggers:
    """The store of triggers."""
    return DynamoTriggers(
        clients.dynamodb,
        table=table,
        sleep=asyncio.sleep,
        chance=random.random,
        new_id=lambda: str(uuid4()),
    )
