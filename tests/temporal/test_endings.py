from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionStatus

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Verdict, open_job
from lucius.core.job import Job
from lucius.core.states import JobState, StepState
from lucius.testing.jobs import lost, protocol
from lucius.testing.jobs import order as made
from tests.temporal.world import LiveWorld, quick

CANCELED = WorkflowExecutionStatus.CANCELED
FAILED = WorkflowExecutionStatus.FAILED
COMPLETED = WorkflowExecutionStatus.COMPLETED
CLOCKLESS = protocol("ocr", "sis")
"""A step of minutes: nothing is due while a test looks."""


async def test_success_completes_with_the_outcome(world: LiveWorld) -> None:
    """Temporal shows the outcome that the ledger has, version and all."""
    job = await world.opened(steps=protocol("ocr"))
    ended = await world.serve(job)
    over = await world.row(job)
    assert ended.status is COMPLETED
    assert ended.outcome is not None
    assert (ended.outcome.state, ended.outcome.version) == (over.state, over.version)
    assert (over.state, ended.outcome.final_output) == (JobState.SUCCEEDED, over.final_output)


async def test_a_final_failure_fails_the_workflow(world: LiveWorld) -> None:
    """It never returns as if all were well: the type of the failure is the state of the job."""
    job = await world.opened(steps=protocol("ocr"))
    await world.report(await world.take(), lost("BROKEN_PDF", final=True))
    ended = await world.ended(job)
    assert (ended.status, ended.failed_with) == (FAILED, "FAILED_FINAL")
    assert "BROKEN_PDF" in str(ended.failure)


async def test_a_cancellation_waits_for_the_step_in_flight(world: LiveWorld) -> None:
    """CANCELLING until the service is done, then cancelled in the ledger and in Temporal."""
    job = await world.opened(steps=CLOCKLESS)
    directive = await world.take()
    await world.acked(directive)
    answer = await world.control(job, cmd.Cancel(reason="asked"))
    assert answer.job is not None
    assert answer.job.state is JobState.CANCELLING
    await world.report(directive)
    ended = await world.ended(job)
    assert (ended.status, (await world.row(job)).state) == (CANCELED, JobState.CANCELLED)


async def test_a_forced_cancellation_waits_for_nothing(world: LiveWorld) -> None:
    """Cancelled at once, on both sides; the result that comes after it counts for nothing."""
    job = await world.opened(steps=CLOCKLESS)
    directive = await world.take()
    await world.acked(directive)
    await world.control(job, cmd.Cancel(force=True))
    ended = await world.ended(job)
    assert (ended.status, (await world.row(job)).state) == (CANCELED, JobState.CANCELLED)
    assert await world.report(directive) is not Verdict.ACCEPTED


async def test_a_cancellation_in_temporal_reaches_the_ledger(world: LiveWorld) -> None:
    """Cancelled by Temporal's own means: the row goes the way it would have gone by ours."""
    job = await world.opened(steps=CLOCKLESS)
    directive = await world.take()
    await world.acked(directive)
    await world.run(job).cancel()
    await world.until(job, lambda job: job.state is JobState.CANCELLING)
    await world.report(directive)
    ended = await world.ended(job)
    assert (ended.status, (await world.row(job)).state) == (CANCELED, JobState.CANCELLED)


async def test_a_cancellation_in_temporal_before_anything_began(world: LiveWorld) -> None:
    """Even one that meets the first task of a workflow is passed on; what had not gone out never does."""
    await world.worker_away()
    world.bus.away = True
    job = await world.opened(steps=CLOCKLESS)
    await world.run(job).cancel()
    world.worker_back()
    ended = await world.ended(job)
    assert (ended.status, (await world.row(job)).state) == (CANCELED, JobState.CANCELLED)


async def test_a_cancelled_pause_ends_on_both_sides(world: LiveWorld) -> None:
    """A paused job has no clock, and ends all the same."""
    job = await _paused(world)
    await world.run(job).cancel()
    ended = await world.ended(job)
    assert (ended.status, (await world.row(job)).state) == (CANCELED, JobState.CANCELLED)


async def test_a_terminated_workflow_ends_its_job(world: LiveWorld) -> None:
    """Nothing runs when a workflow is terminated; the drift check finds the due row and gives it up."""
    job = await world.opened(steps=protocol(quick("ocr", ack_timeout=300)))
    await world.take()
    await world.run(job).terminate("by hand")
    await _ended_by_drift(world, job, "was terminated")


async def test_a_workflow_that_took_too_long_ends_its_job(tmp_path: Path, client: Client) -> None:
    """Temporal's own timeout runs no code either; the row is given up with that reason."""
    world = LiveWorld(tmp_path / "ledger.db", client, execution_timeout=timedelta(seconds=2))
    await world.start()
    job = await world.opened(steps=protocol(quick("ocr", lease=2_500)))
    await world.acked(await world.take())
    assert (await world.ended(job)).status is WorkflowExecutionStatus.TIMED_OUT
    await _ended_by_drift(world, job, "timed out")
    await world.stop()


async def test_a_reply_finds_out_that_the_workflow_is_gone(world: LiveWorld) -> None:
    """Whoever reports to a job that nobody drives any more is answered, and the job is closed then."""
    job = await world.opened(steps=CLOCKLESS)
    directive = await world.take()
    await world.run(job).terminate("by hand")
    assert await world.report(directive) is Verdict.ACCEPTED
    over = await world.row(job)
    assert (over.state, over.error and over.error.code) == (JobState.FAILED_FINAL, "ENGINE_GAVE_UP")
    assert over.steps[0].state is StepState.SUCCEEDED


async def test_a_workflow_without_a_row_says_so(world: LiveWorld) -> None:
    """A job that the ledger does not know cannot be driven: the workflow fails with JOB_UNKNOWN."""
    await world.worker_away()
    world.worker_back(unknown_tries=2)  # not after twenty seconds
    job = open_job(made(accepted_at=world.clock()), Chance(lease_id="")).job
    assert await world.starts.start(job)
    ended = await world.ended(job)
    assert (ended.status, ended.failed_with) == (FAILED, "JOB_UNKNOWN")


async def test_a_workflow_set_back_asks_and_goes_on(world: LiveWorld) -> None:
    """Reset to its first task, a run knows nothing of what happened; it asks, and starts nothing twice."""
    job = await world.opened(steps=CLOCKLESS)
    first = await world.take()
    await world.report(first)
    second = await world.take()
    await world.set_back(job)
    await world.report(second)
    ended = await world.ended(job)
    over = await world.job(job)
    assert (ended.status, over.state, over.attempts_total) == (COMPLETED, JobState.SUCCEEDED, 2)
    assert len(world.bus.bodies(job.job_id)) == 2


async def test_a_closed_workflow_set_back_ends_as_it_did(world: LiveWorld) -> None:
    """A job that is over stays over: the reset run finds out and completes with the same outcome."""
    job = await world.opened(steps=protocol("ocr"))
    before = await world.serve(job)
    await world.set_back(job)
    again = await world.ended(job)
    assert (again.status, again.outcome) == (COMPLETED, before.outcome)


async def _paused(world: LiveWorld) -> Job:
    """A job at rest between two steps."""
    job = await world.opened(steps=CLOCKLESS)
    directive = await world.take()
    await world.control(job, cmd.Pause())
    await world.report(directive)
    return await world.until(job, lambda job: job.state is JobState.PAUSED)


async def _ended_by_drift(world: LiveWorld, job: Job, how: str) -> None:
    """The duty closes the row once it is due, says why, and counts it."""
    overdue = world.overdue()
    closed = 0

    async def over() -> bool:
        nonlocal closed
        closed += int((await overdue.run_once()).details.get("closed", 0))
        return (await world.row(job)).terminal

    await world.poll(over, "the drift check to close the row")
    found = await world.row(job)
    assert (closed, found.state, found.error and found.error.code) == (1, "FAILED_FINAL", "ENGINE_GAVE_UP")
    assert how in str(found.error)
