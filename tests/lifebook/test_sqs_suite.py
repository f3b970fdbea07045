"""SQS keeps the promises of the queue, and what only SQS has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from lucius.errors import Unavailable
from lucius.lifebook.adapters.aws.names import RECEIVES, Names
from lucius.lifebook.adapters.aws.queue import SqsQueue
from lucius.lifebook.adapters.aws.tables import provision
from lucius.lifebook.ports.queue import Delivery, RunQueue
from lucius.testing.lifebook.run_queues import QueueHarness, RunQueueSuite
from lucius.testing.ministack import Ministack, ministack
from tests.lifebook.aws_world import connected, new_names, plain


@pytest.fixture(scope="module")
def aws() -> Iterator[Ministack]:
    """One for all tests here."""
    with ministack() as server:
        yield server


@pytest.fixture
def names() -> Names:
    """Queues of their own for each test."""
    return new_names()


@pytest.fixture
async def harness(aws: Ministack, names: Names) -> AsyncIterator[QueueHarness]:
    """Two empty queues."""
    async with connected(aws, services=["dynamodb", "sqs"]) as clients:
        await provision(clients, names=names, sleep=asyncio.sleep)

        async def another() -> RunQueue:
            return SqsQueue(clients.sqs, names.queue)

        yield QueueHarness(
            work=SqsQueue(clients.sqs, names.queue),
            dead=SqsQueue(clients.sqs, names.dead_letters),
            another=another,
            advance=asyncio.sleep,  # the clock of another process: it passes, or nothing does
            max_receives=RECEIVES,
            fences_receipts=False,
        )


class TestSqsQueue(RunQueueSuite):
    """The promises of the port."""


async def test_a_message_is_the_contracts(harness: QueueHarness, aws: Ministack, names: Names) -> None:
    """Anybody reads the body by the contract's names; the number and the workspace stand beside it."""
    envelope = harness.envelope()
    await harness.work.send(envelope, send_no=3)
    with plain(aws, "sqs") as sqs:
        url = sqs.get_queue_url(QueueName=names.queue)["QueueUrl"]
        [message] = sqs.receive_message(
            QueueUrl=url, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"]
        )["Messages"]
    assert message["Body"] == (
        '{"v":1,"job_id":"job-1","workspace_id":"acme","trigger_type":"manual","attempt":1,"max_attempts":5,'
        '"trace_id":"00000000000000000000000000000001","idempotency_key":"key-\\u00fc-1"}'
    ), "SQS refuses some characters of Unicode; escaped, none is lost"
    assert message["MessageAttributes"] == {"send_no": {"StringValue": "3", "DataType": "Number"}}
    assert message["Attributes"]["MessageGroupId"] == "acme"


async def test_messages_of_one_workspace_are_lent_side_by_side(harness: QueueHarness) -> None:
    """The group makes the queue fair, not ordered: nobody waits for the message before."""
    await harness.send(3)
    assert len(await harness.take(3)) == 3


async def test_a_workspace_that_cannot_be_a_group_has_none(harness: QueueHarness) -> None:
    """SQS takes only plain characters as a group; other workspaces are served without."""
    await harness.work.send(harness.envelope("größe"), send_no=1)
    [delivery] = await harness.take()
    assert json.loads(delivery.body)["workspace_id"] == "größe"


async def test_a_foreign_message_is_lent_too(harness: QueueHarness, aws: Ministack, names: Names) -> None:
    """What others sent comes without a number, whatever they wrote into the attribute."""
    with plain(aws, "sqs") as sqs:
        url = sqs.get_queue_url(QueueName=names.queue)["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="not JSON")
        odd = {"send_no": {"DataType": "String", "StringValue": "first"}}
        sqs.send_message(QueueUrl=url, MessageBody="not JSON", MessageAttributes=odd)
    assert [(each.body, each.send_no) for each in await harness.take(2)] == [(b"not JSON", None)] * 2


async def test_a_receipt_that_never_was_is_tolerated(harness: QueueHarness) -> None:
    """A late answer is harmless, however late."""
    late = Delivery(message_id="m", receipt="r", body=b"", receives=1, send_no=1, sent_at=0)
    await harness.work.hide(late, 5)
    await harness.work.delete(late)
    await harness.deep(0, 0)


async def test_a_queue_that_is_away_is_unavailable(aws: Ministack) -> None:
    """Whoever uses it learns that trying again may help."""
    async with connected(aws, services=["sqs"], tries=1) as clients:
        queue = SqsQueue(clients.sqs, "no-such-queue")
        with pytest.raises(Unavailable) as caught:
            await queue.receive(1, wait_seconds=0, hidden_seconds=1)
    assert caught.value.code == "LIFEBOOK_UNAVAILABLE"
