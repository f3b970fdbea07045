from __future__ import annotations

import asyncio
from pathlib import Path

from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError
from temporalio.worker import Worker

from lucius.core.job import Job
from lucius.engines.temporal.activities import InvokerActivities
from lucius.engines.temporal.worker import build_worker
from lucius.testing.jobs import protocol
from tests.temporal.planting import OUTSIDE, planted
from tests.temporal.world import LiveWorld


async def test_a_workflow_stays_with_the_build_it_began_with(world: LiveWorld) -> None:
    """While two builds run, what began with the old one ends there; what is new begins with the new one."""
    await world.worker_away()
    world.worker_back(version=(world.task_queue, "old"))
    await _make_current(world, "old")
    first = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    newer = build_worker(
        world.client,
        world.invoker,
        task_queue=world.task_queue,
        drain_seconds=0,
        version=(world.task_queue, "new"),
    )
    running = asyncio.create_task(newer.run())
    await _make_current(world, "new")
    second = await world.opened(steps=protocol("ocr"))
    later = await world.take()
    await world.report(directive)
    await world.report(later)
    ended = [await world.ended(job) for job in (first, second)]
    assert [each.status for each in ended] == [WorkflowExecutionStatus.COMPLETED] * 2
    assert [await _build(world, job) for job in (first, second)] == ["old", "new"]
    await newer.shutdown()
    await running


async def test_workflows_that_new_code_cannot_replay_are_set_free(world: LiveWorld, tmp_path: Path) -> None:
    """They stand still with the new code and lose nothing; set back to their first task, they go on."""
    job = await world.opened(steps=protocol("ocr", "sis"))
    directive = await world.take()
    await world.worker_away()
    with planted("an added sleep", tmp_path) as changed:
        world.worker = Worker(
            world.client,
            task_queue=world.task_queue,
            workflows=[changed],
            activities=InvokerActivities(world.invoker).all(),
            workflow_runner=OUTSIDE,
        )
        world.tasks.append(asyncio.create_task(world.worker.run()))
        await world.report(directive)

        async def stuck() -> bool:
            return (await world.counts(job))["WORKFLOW_TASK_FAILED"] > 0

        await world.poll(stuck, "a task that fails")
        assert (await world.run(job).describe()).status is WorkflowExecutionStatus.RUNNING
        await world.set_back(job)
        await world.report(await world.take())
        assert (await world.ended(job)).status is WorkflowExecutionStatus.COMPLETED
        assert (await world.job(job)).attempts_total == 2
        await world.worker_away()


async def _make_current(world: LiveWorld, build: str) -> None:
    """What `temporal worker deployment set-current-version` does, once Temporal has heard of the build."""

    async def done() -> bool:
        try:
            await world.client.workflow_service.set_worker_deployment_current_version(
                SetWorkerDeploymentCurrentVersionRequest(
                    namespace=world.client.namespace, deployment_name=world.task_queue, build_id=build
                )
            )
        except RPCError:
            return False
        return True

    await world.poll(done, f"build {build} to be current")


async def _build(world: LiveWorld, job: Job) -> str:
    """Which build a workflow is pinned to."""
    found = (await world.run(job).describe()).raw_info.versioning_info
    return found.deployment_version.build_id
