from __future__ import annotations

from typing import Any

from temporalio.client import WorkflowExecutionStatus

from lucius.core import commands as cmd
from lucius.core.job import Job
from lucius.core.states import JobState
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.errors import Unavailable
from lucius.testing.jobs import protocol
from tests.temporal.world import LiveWorld, quick


class Away:
    """Temporal, when a job is accepted."""

    async def start(self, job: Job) -> bool:
        """Not now."""
        raise Unavailable("Temporal does not answer.", code="TEMPORAL_UNAVAILABLE")


class Lagging:
    """A client whose lists are a round late."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.shows = False

    async def list_workflows(self, query: str, **more: Any) -> Any:
        """Nothing yet, or what there is."""
        if self.shows:
            async for found in self._client.list_workflows(query, **more):
                yield found


def _lost_starts(world: LiveWorld) -> LostStarts:
    """The duty as it is a moment later, with nothing remembered."""
    return LostStarts(world.ledger, world.starts, clock=lambda: world.clock() + 5_000)


async def _accepted_without_temporal(world: LiveWorld) -> Job:
    world.engine._starts = Away()  # type: ignore[attr-defined]
    return await world.opened(steps=protocol("ocr"))


async def test_a_lost_start_is_started_once(world: LiveWorld) -> None:
    """Rows without a workflow get one; looking again while it runs starts nothing, and says so."""
    job = await _accepted_without_temporal(world)
    first = await _lost_starts(world).run_once()
    again = [await world.starts.start(job) for _ in range(3)]
    assert (first.acted, first.details) == (1, {"looked": 1, "started": 1})
    assert again == [False, False, False]
    ended = await world.serve(job)
    assert ended.status is WorkflowExecutionStatus.COMPLETED
    assert not await world.starts.start(job)
    assert (await world.run(job).describe()).status is WorkflowExecutionStatus.COMPLETED


async def test_a_start_that_was_not_lost_is_no_start(world: LiveWorld) -> None:
    """A workflow that waits for a worker is looked at and left alone."""
    await world.worker_away()
    await world.opened(steps=protocol("ocr"))
    report = await _lost_starts(world).run_once()
    assert (report.acted, report.details) == (0, {"looked": 1, "started": 0})


async def test_a_job_nobody_started_is_not_closed(world: LiveWorld) -> None:
    """To the invoker a row without a workflow is missing, not over: starting it is the orchestrator's."""
    job = await _accepted_without_temporal(world)
    overdue = world.overdue()
    overdue._clock = lambda: world.clock() + 5_000
    report = await overdue.run_once()
    assert (report.acted, report.details) == (0, {"due": 1, "unstarted": 1, "missing": 1})
    assert (await world.row(job)).state is JobState.QUEUED


async def test_a_workflow_that_was_closed_before_it_began(world: LiveWorld) -> None:
    """It is not started a second time; the invoker ends its job."""
    await world.worker_away()
    job = await world.opened(steps=protocol("ocr"))
    await world.run(job).terminate("by hand")
    assert (await _lost_starts(world).run_once()).details == {"looked": 1, "started": 0}
    overdue = world.overdue()
    overdue._clock = lambda: world.clock() + 5_000
    assert (await overdue.run_once()).details["closed"] == 1
    over = await world.row(job)
    assert (over.state, over.error and over.error.code) == (JobState.FAILED_FINAL, "ENGINE_GAVE_UP")


async def test_a_closed_workflow_of_a_paused_job_is_found(world: LiveWorld) -> None:
    """No clock runs on a paused job, so nothing is ever due; Temporal's list of the closed tells."""
    job = await _paused(world)
    await world.run(job).terminate("by hand")
    left_open = world.left_open()
    closed = 0

    async def over() -> bool:
        nonlocal closed
        closed += int((await left_open.run_once()).details.get("closed", 0))
        return (await world.row(job)).terminal

    await world.poll(over, "the list of closed workflows")
    found = await world.row(job)
    assert (closed, found.state, found.error and found.error.code) == (1, "FAILED_FINAL", "ENGINE_GAVE_UP")
    assert (await left_open.run_once()).acted == 0


async def test_a_list_that_lags_is_read_again(world: LiveWorld) -> None:
    """A round that was shown nothing does not move past what closed shortly before it."""
    job = await _paused(world)
    await world.run(job).terminate("by hand")
    left_open = world.left_open()
    lagging = Lagging(world.client)
    left_open._client = lagging  # type: ignore[assignment]
    assert (await left_open.run_once()).acted == 0
    lagging.shows = True

    async def over() -> bool:
        await left_open.run_once()
        return (await world.row(job)).terminal

    await world.poll(over, "the list of closed workflows")


async def test_an_open_workflow_of_a_job_that_is_over_ends(world: LiveWorld) -> None:
    """The ledger ended the job and nobody could be told: the list of the open shows it, and it ends too."""
    job = await world.opened(steps=protocol("ocr"))
    await world.take()
    await world.in_step(job)  # it waits, and would not find out
    await world.desk._apply(job.job_id, cmd.GiveUp(reason="untold"))
    assert await _left_open(world) == 1
    ended = await world.ended(job)
    assert (ended.status, ended.failed_with) == (WorkflowExecutionStatus.FAILED, "FAILED_FINAL")


async def test_an_open_workflow_of_a_cancelled_job_is_cancelled(world: LiveWorld) -> None:
    """A cancellation that was lost on its way to Temporal arrives after all."""
    job = await world.opened(steps=protocol("ocr"))
    await world.take()
    await world.in_step(job)  # it waits, and would not find out
    await world.desk._apply(job.job_id, cmd.Cancel(force=True))
    assert await _left_open(world) == 1
    assert (await world.ended(job)).status is WorkflowExecutionStatus.CANCELED


async def test_workflows_of_others_are_left_alone(world: LiveWorld) -> None:
    """Jobs of another Lucius in the same namespace are not in our ledger, and not our business."""
    await world.opened(steps=protocol("ocr"))
    await world.take()
    stranger = world.left_open(task_queue="of-somebody-else")
    ours = world.left_open()

    async def listed() -> bool:
        return (await ours.run_once()).details.get("open") == 1

    await world.poll(listed, "the list of open workflows")
    assert (await stranger.run_once()).details == {}


async def test_a_lease_that_ran_out_while_the_worker_was_away(world: LiveWorld) -> None:
    """The duty reports and nudges; the worker that comes back finds it all due, and goes on."""
    await world.worker_away()
    world.worker_back(cached=0)  # what it had cached would be kept for it for ten seconds
    job = await world.opened(steps=protocol(quick("ocr")))
    await world.acked(await world.take())
    await world.in_step(job)  # else the worker might take a task along
    await world.worker_away()
    overdue = world.overdue()
    nudged = 0

    async def due() -> bool:
        nonlocal nudged
        nudged += int((await overdue.run_once()).details.get("nudged", 0))
        return nudged > 0

    await world.poll(due, "the end of the lease")
    assert (await overdue.run_once()).details == {"due": 1}  # it rests: a worker that is away hears few
    world.worker_back()
    again = await world.take()
    assert again.attempt_no == 2
    await world.report(again)
    assert (await world.ended(job)).status is WorkflowExecutionStatus.COMPLETED


async def _paused(world: LiveWorld) -> Job:
    job = await world.opened(steps=protocol("ocr", "sis"))
    directive = await world.take()
    await world.control(job, cmd.Pause())
    await world.report(directive)
    return await world.until(job, lambda job: job.state is JobState.PAUSED)


async def _left_open(world: LiveWorld) -> int:
    """Rounds of the duty until it has acted; how often."""
    duty = world.left_open()
    acted = 0

    async def found() -> bool:
        nonlocal acted
        report = await duty.run_once()
        acted += int(report.details.get("left_open", 0))
        return acted > 0

    await world.poll(found, "the list of open workflows")
    return acted
