from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from lucius.core import commands as cmd
from lucius.core.job import Job
from lucius.core.states import JobState
from lucius.engines.temporal import workflow
from lucius.engines.temporal.attributes import PROTOCOL, STATUS, TENANT
from lucius.testing.jobs import protocol
from tests.temporal.world import LiveWorld


@pytest.fixture
async def shown(tmp_path: Path, client: Client) -> AsyncIterator[LiveWorld]:
    """An engine whose workflows carry search attributes."""
    world = LiveWorld(tmp_path / "ledger.db", client, attributes=True)
    await world.start()
    yield world
    await world.stop()


async def test_one_key_is_one_workflow(world: LiveWorld) -> None:
    """Twenty submissions of one key at once make one job, one workflow and one directive."""
    orders = [world.order(steps=protocol("ocr")) for _ in range(20)]
    opened = await asyncio.gather(*(world.open(order, key="doc") for order in orders))
    (job_id,) = {each.job.job_id for each in opened}
    assert [each.duplicate for each in opened].count(False) == 1
    job = next(each.job for each in opened if not each.duplicate)
    ended = await world.serve(job)
    assert ended.status is WorkflowExecutionStatus.COMPLETED
    others = [order.job_id for order in orders if order.job_id != job_id]
    assert {await world.signals.ending(other) for other in others} == {"never started"}
    assert world.bus.jobs() == [job_id]


async def test_twenty_starts_are_one(world: LiveWorld) -> None:
    """Exactly one of many starts at once is the start; after the end none is."""
    await world.worker_away()
    job = await world.opened(steps=protocol("ocr"))
    (first,) = await _runs(world, job)
    assert await asyncio.gather(*(world.starts.start(job) for _ in range(20))) == [False] * 20
    world.worker_back()
    await world.serve(job)
    assert not await world.starts.start(job)
    assert await _runs(world, job) == [first]


async def test_tenants_take_turns(world: LiveWorld) -> None:
    """The tenant is the fairness key of its workflows, and nobody has priority over another."""
    job = await world.opened(tenant="zeta", priority=9)
    priority = (await world.run(job).describe()).raw_info.priority
    assert (priority.fairness_key, priority.priority_key) == ("zeta", 0)  # 0: none is set


async def test_a_workflow_says_what_it_is_for(world: LiveWorld) -> None:
    """People who look into Temporal read what was asked for, by whom, of which document."""
    job = await world.opened(tenant="zeta", doc_id="contract-7", steps=protocol("ocr", "sis"))
    found = await world.run(job).describe()
    assert await found.static_summary() == "OCR_SIS for zeta"
    details = await found.static_details()
    assert details is not None
    assert details.startswith("ocr → sis, document contract-7; lane ")


async def test_lists_can_be_filtered(shown: LiveWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenant, protocol and status are search attributes; the status follows a job that lasts a while."""
    monkeypatch.setattr(workflow, "SHOWN_AFTER", 300)
    job = await shown.opened(tenant="zeta", steps=protocol("ocr", "sis"))
    assert await _shown(shown, job) == ("zeta", "ocr_sis", "QUEUED")
    directive = await shown.take()
    await shown.acked(directive)
    await _status(shown, job, "IN_PROGRESS")
    await shown.control(job, cmd.Pause())
    await shown.report(directive)
    await shown.until(job, lambda job: job.state is JobState.PAUSED)
    await _status(shown, job, "PAUSED")
    await shown.control(job, cmd.Resume())
    await shown.serve(job)
    assert await _shown(shown, job) == ("zeta", "ocr_sis", "SUCCEEDED")


async def test_a_cancelled_job_is_listed_as_that(shown: LiveWorld) -> None:
    """The last status is the job's last state, whichever way it ended."""
    job = await shown.opened(steps=protocol("ocr"))
    await shown.take()
    await shown.control(job, cmd.Cancel(force=True))
    await shown.ended(job)
    assert (await _shown(shown, job))[2] == "CANCELLED"


async def _runs(world: LiveWorld, job: Job) -> list[str | None]:
    """The run of a workflow; a second one would be another."""
    return [(await world.run(job).describe()).run_id]


async def _shown(world: LiveWorld, job: Job) -> tuple[str | None, ...]:
    found = (await world.run(job).describe()).typed_search_attributes
    return tuple(found.get(key) for key in (TENANT, PROTOCOL, STATUS))


async def _status(world: LiveWorld, job: Job, status: str) -> None:
    async def reached() -> bool:
        return (await _shown(world, job))[2] == status

    await world.poll(reached, f"the status {status}")
