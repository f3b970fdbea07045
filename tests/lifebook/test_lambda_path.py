"""The real Lambda path: event source mapping → handler → partial failure → redelivery → dead letters."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lucius.lifebook.adapters.aws.names import Names
from lucius.lifebook.adapters.aws.tables import provision
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.desk import LifebookDesk
from lucius.runtime.building.lifebook import open_lifebook
from lucius.runtime.settings import Settings
from lucius.testing.ministack import Ministack, ministack
from tests.lifebook.aws_world import connected, plain
from tests.lifebook.lambda_flows import registry

FLOWS = Path(__file__).with_name("lambda_flows.py")
WORKER, DUTIES = "lifebook-orchestrator-worker", "lifebook-orchestrator-duties"
TIMEOUT = 30
WITHIN = 60.0


@pytest.fixture(scope="module")
def aws() -> Iterator[Ministack]:
    """One for the module."""
    with ministack() as started:
        yield started


@pytest.fixture
async def desk(
    aws: Ministack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LifebookDesk]:
    """Table, queues, both functions and the mapping, as Terraform makes them; the API's side of it."""
    async with connected(aws) as clients:
        await provision(clients, sleep=asyncio.sleep)
    variables = {
        "LUCIUS_LIFEBOOK_BACKEND": "aws",
        "LUCIUS_LIFEBOOK_ENDPOINT": aws.endpoint,
        "LUCIUS_LIFEBOOK_WORKFLOWS": "lambda_flows:registry",
        "LUCIUS_LIFEBOOK_BACKOFF_SECONDS": "1",
        "LUCIUS_LIFEBOOK_LEASE_SECONDS": "4",
        "DIARY": str(tmp_path / "diary"),
    }
    with plain(aws, "lambda") as functions, plain(aws, "sqs") as sqs:
        for name, entry in ((WORKER, "lucius.lifebook.handler"), (DUTIES, "lucius.lifebook.duties_handler")):
            functions.create_function(
                FunctionName=name,
                Runtime="python3.11",
                Role="arn:aws:iam::000000000000:role/lifebook",
                Handler=entry,
                Code={"ZipFile": _zip()},
                Timeout=TIMEOUT,
                Environment={"Variables": variables},
            )
        mapping = functions.create_event_source_mapping(
            EventSourceArn=_arn(sqs, Names().queue),
            FunctionName=WORKER,
            BatchSize=5,
            FunctionResponseTypes=["ReportBatchItemFailures"],
        )
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.syspath_prepend(str(FLOWS.parent))
        told = {name.removeprefix("LUCIUS_").lower(): value for name, value in variables.items()}
        settings: dict[str, Any] = {name: value for name, value in told.items() if name != "diary"}
        lifebook = await open_lifebook(Settings(**settings, lifebook_concurrency=0))
        assert lifebook is not None
        try:
            yield lifebook.desk
        finally:
            await lifebook.backend.close()
            functions.delete_event_source_mapping(UUID=mapping["UUID"])
            for name in (WORKER, DUTIES):
                functions.delete_function(FunctionName=name)


async def test_a_batch_fails_message_by_message(aws: Ministack, desk: LifebookDesk, tmp_path: Path) -> None:
    """Of one queue's batches each run gets its own end: done once, tried again, or dead and in the DLQ."""
    flows = ["good", "flaky", "bad", "good"]
    made = [(await desk.create.create(_request(flow))).run for flow in flows]
    ended = [await _ended(desk, run) for run in made]
    assert [run.status.value for run in ended] == ["completed", "completed", "dead", "completed"]
    assert [run.attempts for run in ended] == [1, 2, 2, 1]
    ran = Counter(tmp_path.joinpath("diary").read_text().split("\n")[:-1])
    wanted = [f"{run.job_id} step-{n} 1" for run in (made[0], made[3]) for n in (1, 2, 3)]
    wanted += [f"{made[1].job_id} {rest}" for rest in ("step-1 1", "step-2 1", "step-2 2", "step-3 2")]
    wanted += [f"{made[2].job_id} {rest}" for rest in ("step-1 1", "step-2 1", "step-2 2")]
    assert ran == Counter(wanted)
    letters = await _letters(desk, 1)
    assert [letter.envelope.job_id for letter in letters if letter.envelope] == [made[2].job_id]
    wallet = await desk.look.wallet("acme")
    assert (wallet.reserved, wallet.spent) == (0, 3 * 300 + 100)
    with plain(aws, "sqs") as sqs:
        await _empty(sqs, Names().queue)
    with plain(aws, "lambda") as functions:
        answer = functions.invoke(FunctionName=DUTIES, Payload=b"{}")
    assert "FunctionError" not in answer
    told = json.loads(answer["Payload"].read())
    assert told["lifebook-events"] == 4, "each run's one event"


async def test_a_run_goes_on_in_another_invocation(desk: LifebookDesk, tmp_path: Path) -> None:
    """Before the time limit the run is handed on by a message; three invocations are one attempt."""
    run = (await desk.create.create(_request("long"))).run
    ended = await _ended(desk, run)
    assert (ended.status, ended.attempts, ended.sends) == (Status.COMPLETED, 1, 3)
    assert tmp_path.joinpath("diary").read_text().split("\n")[:-1] == [
        f"{run.job_id} step-{n} 1" for n in (1, 2, 3)
    ]


async def test_a_lambda_that_dies_in_a_step_is_followed_by_another(
    desk: LifebookDesk, tmp_path: Path
) -> None:
    """The message comes back after the lease; the next invocation goes on with the step in flight."""
    run = (await desk.create.create(_request("deadly"))).run
    ended = await _ended(desk, run)
    assert (ended.status, ended.attempts, ended.credits_spent) == (Status.COMPLETED, 2, 300)
    assert tmp_path.joinpath("diary").read_text().split("\n")[:-1] == [
        f"{run.job_id} {rest}" for rest in ("step-1 1", "step-2 1", "step-2 2", "step-3 2")
    ]


def _request(flow: str) -> Any:
    from lucius.lifebook.usecases.create import RunRequest

    assert registry.find(flow) is not None
    return RunRequest(workspace_id="acme", user_id="ada", workflow_id=flow)


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(FLOWS, FLOWS.name)
    return file.getvalue()


def _arn(sqs: Any, name: str) -> str:
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(answer["Attributes"]["QueueArn"])


async def _ended(desk: LifebookDesk, run: Run) -> Run:
    async with asyncio.timeout(WITHIN):
        while not (now := await desk.look.run(run.job_id)).terminal:
            await asyncio.sleep(0.1)
    return now


async def _letters(desk: LifebookDesk, wanted: int) -> Any:
    async with asyncio.timeout(WITHIN):
        while len(found := await desk.dead_letters.list()) < wanted:
            await asyncio.sleep(0.1)
    return found


async def _empty(sqs: Any, name: str) -> None:
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    async with asyncio.timeout(WITHIN):
        while any(
            int(value) for value in
            sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()
        ):  # fmt: skip
            await asyncio.sleep(0.1)
