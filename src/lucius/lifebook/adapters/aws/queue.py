"""`SqsQueue`: one SQS queue, of work or of dead letters.

The body is the contract's envelope; which of the run's messages it is goes beside it, as the attribute
`send_no`. The group of a message is its workspace: on a standard queue that keeps nothing in order, but a
workspace with many messages no longer delays the others (fair queues). Moving to the dead letters is the
queue's own doing: its redrive policy.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from botocore.exceptions import ClientError

from lucius.lifebook.adapters.aws.faults import code_of, mapped
from lucius.lifebook.core.run import Envelope
from lucius.lifebook.ports.queue import (
    MAX_BATCH,
    MAX_DELAY_SECONDS,
    MAX_HIDDEN_SECONDS,
    MAX_WAIT_SECONDS,
    Delivery,
    Depth,
)

_SEND_NO = "send_no"
_OVER = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight"})
"""The loan has ended: somebody else has the message now, or nobody needs it."""
_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_GROUP = re.compile(r"[!-~]{1,128}")


class SqsQueue:
    """A queue, by its name."""

    def __init__(self, client: Any, name: str, *, fair: bool = True) -> None:
        """`client`: of `connect`, who closes it. `fair`: give messages the group of their workspace."""
        self._client = client
        self._name = name
        self._fair = fair
        self._url: str | None = None

    async def send(self, envelope: Envelope, *, send_no: int, delay_seconds: float = 0) -> None:
        """See `RunQueue`."""
        group = {}
        if self._fair and _GROUP.fullmatch(envelope.workspace_id):
            group = {"MessageGroupId": envelope.workspace_id}
        url = await self._found()
        with mapped(f"send a message to {self._name}"):
            await self._client.send_message(
                QueueUrl=url,
                # In ASCII: SQS refuses some characters of Unicode, and names of dropped files may have them.
                MessageBody=json.dumps(msgspec.to_builtins(envelope), separators=(",", ":")),
                DelaySeconds=_whole(delay_seconds, MAX_DELAY_SECONDS),
                MessageAttributes={_SEND_NO: {"DataType": "Number", "StringValue": str(send_no)}},
                **group,
            )

    async def receive(self, limit: int, *, wait_seconds: float, hidden_seconds: float) -> Sequence[Delivery]:
        """See `RunQueue`."""
        url = await self._found()
        with mapped(f"receive from {self._name}"):
            answer = await self._client.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=min(max(limit, 1), MAX_BATCH),
                WaitTimeSeconds=_whole(wait_seconds, MAX_WAIT_SECONDS),
                VisibilityTimeout=_whole(hidden_seconds, MAX_HIDDEN_SECONDS),
                MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
                MessageAttributeNames=[_SEND_NO],
            )
        return [delivery_of(message) for message in answer.get("Messages", [])]

    async def hide(self, delivery: Delivery, seconds: float) -> None:
        """See `RunQueue`."""
        url = await self._found()
        with mapped(f"hide a message of {self._name}"):
            await _unless_over(
                self._client.change_message_visibility(
                    QueueUrl=url,
                    ReceiptHandle=delivery.receipt,
                    VisibilityTimeout=_whole(seconds, MAX_HIDDEN_SECONDS),
                )
            )

    async def delete(self, delivery: Delivery) -> None:
        """See `RunQueue`."""
        url = await self._found()
        with mapped(f"delete a message of {self._name}"):
            await _unless_over(self._client.delete_message(QueueUrl=url, ReceiptHandle=delivery.receipt))

    async def depth(self) -> Depth:
        """See `RunQueue`."""
        url = await self._found()
        with mapped(f"look into {self._name}"):
            answer = await self._client.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS))
        visible, lent, delayed = (int(answer["Attributes"].get(name, 0)) for name in _COUNTS)
        return Depth(visible=visible, hidden=lent + delayed)

    async def close(self) -> None:
        """Nothing: whoever opened the client closes it."""

    async def _found(self) -> str:
        if self._url is None:
            with mapped(f"find the queue {self._name}"):
                answer = await self._client.get_queue_url(QueueName=self._name)
            self._url = str(answer["QueueUrl"])
        return self._url


def delivery_of(message: dict[str, Any]) -> Delivery:
    """A received message, of the API."""
    told = message.get("Attributes", {})
    return Delivery(
        message_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"].encode(),
        receives=int(told.get("ApproximateReceiveCount", 1)),
        send_no=_number(message.get("MessageAttributes", {}).get(_SEND_NO, {}).get("StringValue")),
        sent_at=int(told.get("SentTimestamp", 0)),
    )


async def _unless_over(call: Any) -> None:
    try:
        await call
    except ClientError as error:
        if code_of(error) not in _OVER:
            raise


def _whole(seconds: float, most: int) -> int:
    """SQS counts whole seconds: rather a moment too long than too short, within its limit."""
    return min(max(math.ceil(seconds), 0), most)


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None  # somebody else's attribute
