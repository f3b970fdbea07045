"""Events on EventBridge."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lucius.errors import Unavailable
from lucius.lifebook.adapters.aws.queue import SqsQueue
from lucius.lifebook.adapters.aws.telling import EventBridgeAnalytics
from lucius.lifebook.core.events import RunEvent, event_of
from lucius.lifebook.ports.telling import Analytics
from lucius.testing.lifebook.runs import canceled, new_run, step_done, taken
from lucius.testing.ministack import ministack
from tests.lifebook.aws_world import connected


def _event() -> RunEvent:
    run = taken(new_run(costs=(150, 50))).run
    return event_of(canceled(step_done(run).run).run)


async def test_an_event_arrives_by_the_contracts_names() -> None:
    """A rule of the bus finds it by source and type, and its detail has times and credits as the contract."""
    event = _event()
    with ministack() as aws:
        async with connected(aws) as clients:
            url = (await clients.sqs.create_queue(QueueName="heard"))["QueueUrl"]
            told = await clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
            pattern = json.dumps({"source": ["lucius.lifebook"], "detail-type": ["workflow_run_canceled"]})
            await clients.events.put_rule(Name="all", EventPattern=pattern)
            target = {"Id": "heard", "Arn": told["Attributes"]["QueueArn"]}
            await clients.events.put_targets(Rule="all", Targets=[target])
            analytics: Analytics = EventBridgeAnalytics(clients.events)
            await analytics.tell(event)
            [heard] = await SqsQueue(clients.sqs, "heard").receive(10, wait_seconds=10, hidden_seconds=60)
    detail = json.loads(heard.body)["detail"]
    assert detail["event_id"] == f"{event.job_id}:workflow_run_canceled"
    assert (detail["credits_spent"], detail["success"], detail["status"]) == (1.5, False, "canceled")
    assert detail["created_at"] == "2026-01-27T10:02:00.000Z"
    assert (detail["steps_done"], detail["steps_total"]) == (1, 2)


async def test_an_event_that_the_bus_refuses_is_not_told() -> None:
    """EventBridge answers 200 and names what failed: whoever tells must hear it."""

    class Refusing:
        async def put_events(self, **_: Any) -> dict[str, Any]:
            return {
                "FailedEntryCount": 1,
                "Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "later"}],
            }

    with pytest.raises(Unavailable, match="ThrottlingException"):
        await EventBridgeAnalytics(Refusing()).tell(_event())
