from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.core.routing import reply_topics, topics
from lucius.errors import Unavailable
from lucius.ports.bus import Message, Settle, Settlement, Subscription
from lucius.services.echo import EchoService
from lucius.wire.messages import DirectiveMessage, ReplyMessage, ResultMessage, decode_reply, encode
from lucius.wire.timestamps import iso

REPLIES = Subscription(name="lucius", topics=reply_topics())
START = 1_769_508_120_000


class Stage:
    """A bus, an echo service on it, and a clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = START
        self.bus = EmbeddedBus(topics=(*topics(), *reply_topics()), clock=lambda: self.now, lock_seconds=3600)
        self.chances: Iterator[float] = iter(())
        self.tasks: list[asyncio.Task[None]] = []
        self.calls: list[str] = []

    def service(self, **more: Any) -> EchoService:
        """A service that is running."""
        service = EchoService(
            self.bus, clock=lambda: self.now, sleep=self.sleep, chance=lambda: next(self.chances), **more
        )
        self.bus.declare(service.subscription)
        self.tasks.append(asyncio.create_task(service.run()))
        return service

    async def sleep(self, seconds: float) -> None:
        """Let everybody else run, then let the time have passed."""
        self.calls.append(f"sleep {seconds}")
        await asyncio.sleep(0)
        self.now += int(seconds * 1000)

    async def send(self, *directives: DirectiveMessage) -> None:
        """Publish directives as the relay does."""
        await self.bus.publish([message_of(each) for each in directives])

    async def replies(self, number: int) -> list[ReplyMessage]:
        """Exactly so many replies: waits for the last, and then there is no other."""
        got: list[ReplyMessage] = []
        while len(got) < number:
            deliveries = await self.bus.receive(REPLIES, limit=number, wait=10)
            got += [decode_reply(each.message.body) for each in deliveries]
            await self.bus.settle(
                [Settle(lock_token=each.lock_token, outcome=Settlement.COMPLETE) for each in deliveries]
            )
        assert (await self.bus.backlog())["lucius"] == 0
        return got


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A stage whose services end by themselves when the bus closes."""
    stage = Stage()
    stage.bus.declare(REPLIES)
    yield stage
    await stage.bus.close()
    await asyncio.gather(*stage.tasks)


def directive(number: int = 1, attempt_no: int = 1, **more: Any) -> DirectiveMessage:
    """A directive as the engine writes it."""
    base = DirectiveMessage(
        job_id=f"job-{number}",
        step_id="ocr",
        tenant_id="acme",
        attempt_no=attempt_no,
        lease_id=f"lease-{number}-{attempt_no}",
        protocol_id="ocr_v1",
        step_type="OCR",
        input_ref={"uri": "s3://in/a.pdf"},
        workspace_ref={"uri": "s3://space/lucius/acme/job-1/"},
        output_ref={"uri": "s3://out/a.json"},
        payload={},
        mode="DEFAULT",
        lane=3,
        routing_key_used="acme",
        correlation_id="corr-1",
        traceparent=None,
        lease_expires_at=iso(START + 900_000),
    )
    return msgspec.structs.replace(base, **more)


def message_of(each: DirectiveMessage) -> Message:
    """The directive on its topic."""
    return Message(
        message_id=f"{each.job_id}.{each.attempt_no}",
        topic="global-bus-p3",
        subject=each.step_type,
        tenant_id=each.tenant_id,
        body=encode(each),
    )


def kinds(replies: Sequence[ReplyMessage]) -> list[str]:
    """What kind each is."""
    return [str(type(reply).__struct_config__.tag) for reply in replies]


def only_result(replies: Sequence[ReplyMessage]) -> ResultMessage:
    """The one RESULT among them."""
    [result] = [reply for reply in replies if isinstance(reply, ResultMessage)]
    return result


async def test_a_directive_is_acknowledged_and_succeeds(stage: Stage) -> None:
    """ACK, then RESULT, for the very attempt and lease, with the output below the step's own folder."""
    stage.service()
    await stage.send(directive())
    replies = await stage.replies(2)
    assert kinds(replies) == ["ACK", "RESULT"]
    assert {
        (r.job_id, r.step_id, r.tenant_id, r.attempt_no, r.lease_id, r.correlation_id) for r in replies
    } == {("job-1", "ocr", "acme", 1, "lease-1-1", "corr-1")}
    result = only_result(replies)
    assert result.status == "SUCCEEDED"
    assert result.output_ref == {"uri": "s3://space/lucius/acme/job-1/OCR/1/output.json"}
    assert result.timestamp == iso(START)


async def test_a_batch_without_delay_is_one_publish_and_one_settle(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many directives wait, their answers cost two calls of the bus."""
    calls: list[tuple[str, int]] = []
    publish, settle = stage.bus.publish, stage.bus.settle

    async def counted_publish(messages: Sequence[Message]) -> None:
        calls.append(("publish", len(messages)))
        await publish(messages)

    async def counted_settle(settlements: Sequence[Settle]) -> list[bool]:
        calls.append(("settle", len(settlements)))
        return await settle(settlements)

    await stage.send(*(directive(number) for number in range(50)))
    monkeypatch.setattr(stage.bus, "publish", counted_publish)
    monkeypatch.setattr(stage.bus, "settle", counted_settle)
    stage.service()
    assert len(await stage.replies(100)) == 100
    assert calls[:2] == [("publish", 100), ("settle", 50)]


async def test_only_its_step_types(stage: Stage) -> None:
    """A service bound to step types leaves the others alone."""
    stage.service(step_types=["OCR"])
    await stage.send(directive(1, step_type="SIS"), directive(2))
    assert {reply.job_id for reply in await stage.replies(2)} == {"job-2"}
    assert stage.bus.unclaimed() == {"SIS": 1}


async def test_a_long_delay_beats(stage: Stage) -> None:
    """While it waits the service sends a HEARTBEAT at every third of the lease, with progress."""
    stage.service(delay=1000)
    await stage.send(directive())
    replies = await stage.replies(5)
    assert kinds(replies) == ["ACK", "HEARTBEAT", "HEARTBEAT", "HEARTBEAT", "RESULT"]
    assert [msgspec.to_builtins(reply).get("progress") for reply in replies[1:4]] == [0.3, 0.6, 0.9]
    assert only_result(replies).timestamp == iso(START + 1_000_000)


async def test_a_lease_it_cannot_read_does_not_end_the_service(stage: Stage) -> None:
    """An odd lease time costs heartbeats, not the service."""
    stage.service(delay=1)
    await stage.send(directive(lease_expires_at="soon"))
    assert kinds(await stage.replies(2)) == ["ACK", "RESULT"]


async def test_the_failure_rate_fails_some(stage: Stage) -> None:
    """Chance below the rate is a retryable ECHO_FAILURE, chance above is success."""
    stage.chances = iter((0.1, 0.9))
    stage.service(failure_rate=0.5)
    await stage.send(directive(1), directive(2))
    results = [reply for reply in await stage.replies(4) if isinstance(reply, ResultMessage)]
    assert [(r.status, r.error.code if r.error else None) for r in results] == [
        ("FAILED_RETRY", "ECHO_FAILURE"),
        ("SUCCEEDED", None),
    ]
    assert results[0].output_ref is None


@pytest.mark.parametrize(
    ("switches", "attempt_no", "expected"),
    [
        ({"fail": "retry"}, 7, ["ACK", "FAILED_RETRY"]),
        ({"fail": "final"}, 1, ["ACK", "FAILED_FINAL"]),
        ({"fail": "final", "fail_attempts": 1}, 1, ["ACK", "FAILED_FINAL"]),
        ({"fail": "retry", "fail_attempts": 2}, 3, ["ACK", "SUCCEEDED"]),
        ({"fail": "no_ack", "fail_attempts": 1}, 2, ["ACK", "SUCCEEDED"]),
        ({"fail": "silent"}, 1, ["ACK"]),
        ({"fail": "no_ack"}, 1, []),
        ({"fail": "maybe"}, 1, ["ACK", "FAILED_FINAL"]),
        ({"delay_ms": 5}, 1, ["ACK", "SUCCEEDED"]),
    ],
)
async def test_the_payload_steers(
    stage: Stage, switches: dict[str, Any], attempt_no: int, expected: list[str]
) -> None:
    """A step's payload may ask the service to fail, be slow or say nothing."""
    service = stage.service()
    await stage.send(directive(1, attempt_no, payload={"echo": switches}), directive(2))
    replies = [reply for reply in await stage.replies(len(expected) + 2) if reply.job_id == "job-1"]
    assert [r.status if isinstance(r, ResultMessage) else "ACK" for r in replies] == expected
    assert (await stage.bus.backlog())["echo"] == 0
    service.stop()


async def test_an_unreadable_directive_is_a_dead_letter(stage: Stage) -> None:
    """What is no directive is set aside with a reason, and its neighbours are served."""
    broken = Message(
        message_id="x", topic="global-bus-p0", subject="OCR", tenant_id="acme", body=b'{"type":1}'
    )
    await stage.bus.publish([broken, message_of(directive())])
    stage.service()
    assert kinds(await stage.replies(2)) == ["ACK", "RESULT"]
    [dead] = await stage.bus.dead_letters()
    assert dead.message == broken


async def test_stopping_finishes_what_runs_and_takes_nothing_new(stage: Stage) -> None:
    """After `stop`, running work still reports, and what comes later waits for somebody else."""
    service = stage.service(delay=5)
    await stage.send(directive(1))
    await stage.replies(1)
    service.stop()
    service.stop()
    await stage.send(directive(2))
    await stage.tasks[0]
    assert only_result(await stage.replies(1)).job_id == "job-1"
    assert (await stage.bus.backlog())["echo"] == 1


async def test_stopping_an_idle_service_is_quick(stage: Stage) -> None:
    """A service that waits for directives ends at once."""
    service = stage.service()
    await asyncio.sleep(0)
    service.stop()
    await asyncio.wait_for(stage.tasks[0], 10)
    assert stage.calls == []


async def test_no_more_at_a_time_than_its_concurrency(stage: Stage) -> None:
    """Delayed work is bounded; the rest waits in the bus and is served afterwards."""
    stage.service(delay=1, concurrency=2)
    await stage.send(*(directive(number) for number in range(5)))
    replies = await stage.replies(10)
    open_jobs: set[str] = set()
    for reply in replies:
        (open_jobs.discard if isinstance(reply, ResultMessage) else open_jobs.add)(reply.job_id)
        assert len(open_jobs) <= 2


async def test_a_bus_that_is_away_is_tried_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers wait for a bus that cannot take them now, and then go out once."""
    publish, refusals = stage.bus.publish, [1, 2]

    async def sometimes(messages: Sequence[Message]) -> None:
        if refusals:
            refusals.pop()
            raise Unavailable("full", code="BUS_FULL")
        await publish(messages)

    await stage.send(directive())
    monkeypatch.setattr(stage.bus, "publish", sometimes)
    stage.service()
    assert kinds(await stage.replies(2)) == ["ACK", "RESULT"]
    assert stage.calls == ["sleep 1.0", "sleep 1.0"]
