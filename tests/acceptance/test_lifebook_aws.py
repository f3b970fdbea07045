"""Lifebook runs on DynamoDB and SQS (ministack), with workers that are killed, stopped and doubled."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import msgspec
import pytest

from lucius.lifebook.adapters.aws.names import Names
from lucius.lifebook.core.run import Run, envelope_of
from lucius.lifebook.core.states import Status
from lucius.testing.ministack import Ministack, ministack
from lucius.testing.processes import Server, await_that
from tests.acceptance.lifebook_aws import Cloud, audit, cloud, variables
from tests.acceptance.lifebook_flows import PRICES
from tests.acceptance.lifebook_processes import FLOWS, WITHIN, ended, request
from tests.lifebook.aws_world import plain

TABLE = "jobs"
ALL = [1, 2, 3, 4, 5]
_numbers = count(1)


@pytest.fixture(scope="module")
def aws() -> Iterator[Ministack]:
    """One for the module, with one table: what a test leaves behind, the next one's audit sees."""
    with ministack() as started:
        yield started


@pytest.fixture
async def here(aws: Ministack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cloud]:
    """Queues for one test; at its end credits, events and keys of the whole table add up."""
    for name, value in aws.environment().items():
        monkeypatch.setenv(name, value)
    number = next(_numbers)
    names = Names(table=TABLE, queue=f"queue-{number}", dead_letters=f"dlq-{number}")
    async with cloud(aws, names, tmp_path) as found:
        await found.provision()
        yield found
    assert audit(aws, TABLE) == []


async def _made(here: Cloud, workflow: str) -> Run:
    return (await here.desk.create.create(request(workflow))).run


async def _spent(here: Cloud) -> int:
    return (await here.desk.look.wallet("acme")).spent


async def test_64_creations_of_one_key_are_one_run(here: Cloud) -> None:
    """Of 64 that race, one makes the run: one message, one reservation, and all are shown the same."""
    before = await here.desk.look.wallet("acme")
    asked = request("steady", key="the only one")
    made = await asyncio.gather(*(here.desk.create.create(asked) for _ in range(64)))
    assert len({one.run.job_id for one in made}) == 1
    assert [one.fresh for one in made].count(True) == 1
    assert here.count(here.names.queue) == 1
    assert (await here.desk.look.wallet("acme")).reserved - before.reserved == sum(PRICES)
    here.workers.begin()
    run = await ended(here.desk, made[0].run.job_id)
    assert (run.status, run.attempts, here.workers.ran(run.job_id)) == (Status.COMPLETED, 1, ALL)
    await here.empties(here.names.queue)


async def test_a_killed_worker_s_run_goes_on_at_its_step(here: Cloud) -> None:
    """A kill -9 in step 3 of 5: another process goes on at step 3, and steps 1 and 2 are not run again."""
    run = await _made(here, "gated")
    first = here.workers.begin()
    assert here.workers.process_in(run.job_id, 3) == first.pid
    here.workers.kill(first)
    second = here.workers.begin()
    over = await ended(here.desk, run.job_id)
    began = [(line.step, line.process) for line in here.workers.lines() if line.what == "began"]
    assert began[:3] == [(1, first.pid), (2, first.pid), (3, first.pid)]
    assert began[3:] == [(3, second.pid), (4, second.pid), (5, second.pid)]
    assert (over.status, over.attempts, over.credits_spent) == (Status.COMPLETED, 2, sum(PRICES))


async def test_a_worker_that_was_taken_for_dead_changes_nothing(here: Cloud) -> None:
    """Stopped for longer than its lease, then awake again: its late result is refused, charged is once."""
    before = await _spent(here)
    run = await _made(here, "gated")
    zombie = here.workers.begin()
    assert here.workers.process_in(run.job_id, 3) == zombie.pid
    os.kill(zombie.pid, signal.SIGSTOP)
    here.workers.begin()
    over = await ended(here.desk, run.job_id)
    here.workers.gate(run.job_id).unlink()  # its step will be done as soon as it wakes up
    os.kill(zombie.pid, signal.SIGCONT)
    await_that(lambda: _refused(here, run.job_id, "checkpoint"), "the refusal of its result", WITHIN)
    assert here.workers.ran(run.job_id, "done").count(3) == 2
    assert here.workers.ran(run.job_id) == [1, 2, 3, 3, 4, 5]
    assert (over.status, await here.desk.look.run(run.job_id)) == (Status.COMPLETED, over)
    assert await _spent(here) - before == sum(PRICES)


def _refused(here: Cloud, job_id: str, command: str) -> bool:
    return any(
        line.get("event") == "transition refused" and (line["job_id"], line["command"]) == (job_id, command)
        for line in here.workers.said()
    )


async def test_doubled_deliveries_do_nothing(here: Cloud) -> None:
    """The same message five times more, before the run and after it: every step once, an empty queue."""
    run = await _made(here, "steady")
    await _double(here, run)
    here.workers.begin()
    over = await ended(here.desk, run.job_id)
    await _double(here, run)
    await here.empties(here.names.queue)
    assert (over.attempts, over.status) == (1, Status.COMPLETED)
    assert here.workers.ran(run.job_id) == ALL
    assert await here.desk.look.run(run.job_id) == over
    assert here.count(here.names.dead_letters) == 0


async def _double(here: Cloud, run: Run) -> None:
    body = msgspec.json.encode(envelope_of(run)).decode()
    number = {"send_no": {"DataType": "Number", "StringValue": str(run.sends)}}
    url = here.sqs.get_queue_url(QueueName=here.names.queue)["QueueUrl"]
    for _ in range(5):
        here.sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=number)


async def test_a_queue_that_is_away_delays_a_run_and_loses_none(aws: Ministack, here: Cloud) -> None:
    """Created while there is no queue: 201 and `pending`; once there is one, a worker's sweeper sends."""
    away = Names(table=TABLE, queue="late-queue", dead_letters="late-dlq")
    settings = variables(aws, away) | {
        "LUCIUS_LIFEBOOK_WORKFLOWS": FLOWS, "LUCIUS_LIFEBOOK_CONCURRENCY": "0",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }  # fmt: skip
    with Server(here.workers.log.parent, "--services", "none", environment=settings) as server:
        server.start()
        with server.calling() as caller:
            body = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "steady"}
            status, answer = caller.post("/v1/lifebook/jobs", body)
    assert (status, answer["status"]) == (201, "pending"), answer
    async with cloud(aws, away, here.workers.log.parent) as later:
        await later.provision()
        assert later.count(away.queue) == 0
        with plain(aws, "dynamodb") as dynamodb:  # what half a minute of patience would do
            dynamodb.update_item(
                TableName=TABLE,
                Key={"job_id": {"S": answer["job_id"]}},
                UpdateExpression="SET due_at = :now",
                ExpressionAttributeValues={":now": {"N": "1"}},
            )
        later.workers.begin()
        run = await ended(later.desk, answer["job_id"])
        assert (run.status, run.sends, run.attempts) == (Status.COMPLETED, 2, 1)
        assert later.workers.ran(run.job_id) == ALL
        await later.empties(away.queue)


async def test_a_run_out_of_attempts_is_dead_and_its_message_raises_the_alarm(here: Cloud) -> None:
    """`dead` when its attempts are over; its message moves to the dead letters; one event tells of it."""
    run = await _made(here, "failing")
    here.workers.begin()
    over = await ended(here.desk, run.job_id)
    assert (over.status, over.attempts, over.last_error_code) == (Status.DEAD, 2, "NEVER")
    assert (over.credits_spent, over.credits_reserved) == (PRICES[0], 0)
    await here.empties(here.names.queue)
    assert here.count(here.names.dead_letters) == 1

    await here.told(run.job_id)
    events = [line for line in here.workers.said() if line.get("event") == "workflow_run_completed"]
    assert [line["success"] for line in events if line["job_id"] == run.job_id] == [False]
    [letter] = await here.desk.dead_letters.list()
    assert letter.run == over
    assert here.workers.ran(run.job_id) == [1, 2, 2]


async def test_a_canceled_run_stops_inside_its_step(here: Cloud) -> None:
    """Cancel while step 2 runs: the step hears it, the rest is refunded, the worker does other work."""
    before = await _spent(here)
    run = await _made(here, "listening")
    here.workers.begin(LUCIUS_LIFEBOOK_CONCURRENCY="1")
    here.workers.process_in(run.job_id, 2)
    other = await _made(here, "steady")
    over = await here.desk.control.cancel(run)
    assert (over.status, over.credits_spent) == (Status.CANCELED, PRICES[0])
    assert (await ended(here.desk, other.job_id)).status is Status.COMPLETED
    assert here.workers.ran(run.job_id, "stopped") == [2]
    assert await here.desk.look.run(run.job_id) == over
    assert await _spent(here) - before == PRICES[0] + sum(PRICES)
    await here.empties(here.names.queue)


async def test_a_worker_that_is_asked_to_stop_hands_its_run_on(here: Cloud) -> None:
    """SIGTERM while a step runs: it ends, the run goes on elsewhere in the same attempt, exit code 0."""
    run = await _made(here, "draining")
    first = here.workers.begin()
    here.workers.process_in(run.job_id, 2)
    first.terminate()
    here.workers.gate(run.job_id).unlink()
    assert here.workers.ended(first) == 0
    handed = await here.desk.look.run(run.job_id)
    assert (handed.status, handed.attempts, handed.lock) == (Status.QUEUED, 1, None)
    assert 2 <= handed.step_cursor < len(ALL)
    here.workers.begin()
    over = await ended(here.desk, run.job_id)
    assert (over.status, over.attempts) == (Status.COMPLETED, 1)
    assert over.sends > 1, "a message of its own woke the other worker"
    assert here.workers.ran(run.job_id) == ALL
