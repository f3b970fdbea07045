from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.worker import Worker

from bench.bare_temporal import STEPS, Ack, BareJob, Directive, Order, Result
from tests.temporal.world import PATIENCE, LiveWorld

ASKED = ("ACTIVITY_TASK_SCHEDULED", "WORKFLOW_EXECUTION_SIGNALED")
DONE = {"WORKFLOW_TASK_SCHEDULED": "WORKFLOW_TASK_COMPLETED", ASKED[0]: "ACTIVITY_TASK_COMPLETED"}


@pytest.fixture
async def shown(tmp_path: Path, client: Client) -> AsyncIterator[LiveWorld]:
    """An engine whose workflows show themselves in Temporal's lists, as they do by default."""
    made = LiveWorld(tmp_path / "ledger.db", client, attributes=True)
    await made.start()
    yield made
    await made.stop()


async def test_no_longer_than_a_bare_workflow(shown: LiveWorld) -> None:
    """A job of three steps costs no more history than a workflow by hand with the same calls and signals."""
    ours, bare = await _ours(shown), await _bare(shown)
    assert [ours[name] for name in ASKED] == [bare[name] for name in ASKED] == [3, 6]
    assert ours.total() <= bare.total()


async def _ours(world: LiveWorld) -> Counter[str]:
    """A service that says one thing at a time, and waits until the workflow has taken it in."""
    job = await world.opened()
    for _ in STEPS:
        directive = await world.take()
        await _quiet(world, job.job_id)
        await world.acked(directive)
        await _quiet(world, job.job_id)
        await world.report(directive)
    await world.ended(job)
    return await _counts(world.client, job.job_id)


async def _bare(world: LiveWorld) -> Counter[str]:
    """The same for the workflow by hand."""
    asked: asyncio.Queue[Directive] = asyncio.Queue()

    @activity.defn
    async def publish(directive: Directive) -> None:
        asked.put_nowait(directive)

    queue = f"{world.task_queue}-bare"
    order = Order(
        job_id=queue, tenant_id="acme", request_type="THREE", input_uri="s3://in", output_uri="s3://out",
        steps=list(STEPS),
    )  # fmt: skip
    worker = Worker(world.client, task_queue=queue, workflows=[BareJob], activities=[publish])
    async with asyncio.timeout(4 * PATIENCE), worker:
        handle = await world.client.start_workflow(BareJob.run, order, id=queue, task_queue=queue)
        for _ in STEPS:
            step = (await asked.get()).step_id
            await _quiet(world, queue)
            await handle.signal(BareJob.step_ack, Ack(step_id=step))
            await _quiet(world, queue)
            result = Result(step_id=step, status="SUCCEEDED", output_uri=f"s3://out/{step}")
            await handle.signal(BareJob.step_result, result)
        await handle.result()
    return await _counts(world.client, queue)


async def _quiet(world: LiveWorld, workflow_id: str) -> None:
    """Wait until the workflow has taken in all it was told."""

    async def is_quiet() -> bool:
        found = await _counts(world.client, workflow_id)
        return all(found[begun] == found[over] for begun, over in DONE.items())

    await world.poll(is_quiet, f"{workflow_id} to come to rest")


async def _counts(client: Client, workflow_id: str) -> Counter[str]:
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    names = (EventType.Name(event.event_type) for event in history.events)
    return Counter(name.removeprefix("EVENT_TYPE_") for name in names)
