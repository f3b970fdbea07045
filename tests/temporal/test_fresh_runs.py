from __future__ import annotations

from temporalio.client import WorkflowExecutionStatus

from lucius.core import commands as cmd
from lucius.core.job import Job, standing
from lucius.core.states import JobState
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.engines.temporal.messages import Start, Told
from lucius.engines.temporal.pilot import Pilot
from lucius.testing.jobs import Story, done, protocol
from tests.temporal.world import LiveWorld


async def test_a_long_job_goes_on_in_fresh_runs(brief: LiveWorld) -> None:
    """Whatever it knew goes along: nothing is started twice, and the outcome is the ledger's."""
    job = await brief.opened(steps=protocol("a", "b", "c", "d", "e", "f"))
    first = (await brief.run(job).describe()).run_id
    ended = await brief.serve(job)
    over = await brief.job(job)
    assert (ended.status, over.state, over.attempts_total) == (
        WorkflowExecutionStatus.COMPLETED, JobState.SUCCEEDED, 6,
    )  # fmt: skip
    assert ended.outcome is not None
    assert ended.outcome.version == over.version
    counts = await brief.counts(job, run_id=first)
    assert counts["WORKFLOW_EXECUTION_CONTINUED_AS_NEW"] == 1
    assert len(brief.bus.bodies(job.job_id)) == 6


async def test_a_fresh_run_is_not_a_second_start(brief: LiveWorld) -> None:
    """S18: starts, lost or not, and questions about the end mean the latest run."""
    job = await brief.opened(steps=protocol("a", "b"))
    await _until_fresh(brief, job)
    assert not await brief.starts.start(job)
    assert await brief.signals.ending(job.job_id) is None
    later = LostStarts(brief.ledger, brief.starts, clock=lambda: brief.clock() + 3_600_000)
    assert (await later.run_once()).acted == 0
    assert (await brief.serve(job)).status is WorkflowExecutionStatus.COMPLETED
    assert not await brief.starts.start(job)
    assert await brief.signals.ending(job.job_id) == "completed"


async def test_a_fresh_run_hears_and_can_be_cancelled(brief: LiveWorld) -> None:
    """A cancellation meets the latest run, which waits for its step and ends cancelled."""
    job = await brief.opened(steps=protocol("a", "b"))
    await _until_fresh(brief, job)
    directive = await brief.take()
    await brief.acked(directive)
    await brief.control(job, cmd.Cancel())
    await brief.report(directive)
    ended = await brief.ended(job)
    assert (ended.status, (await brief.row(job)).state) == (
        WorkflowExecutionStatus.CANCELED, JobState.CANCELLED,
    )  # fmt: skip


async def test_a_cancelled_run_stays_the_last_one(brief: LiveWorld) -> None:
    """Temporal forgets a cancellation with the run; so a cancelled run is not followed by a fresh one."""
    job = await brief.opened(steps=protocol("a", "b"))
    directive = await brief.take()
    await brief.acked(directive)
    await brief.control(job, cmd.Cancel())
    for _ in range(25):
        await brief.signals.nudge(job.job_id)
    await brief.report(directive)
    assert (await brief.ended(job)).status is WorkflowExecutionStatus.CANCELED
    assert (await brief.counts(job))["WORKFLOW_EXECUTION_CONTINUED_AS_NEW"] == 0


async def test_a_cancellation_in_temporal_is_not_lost_between_runs(brief: LiveWorld) -> None:
    """One that comes together with the signal that makes a run too long is the run's, and is passed on."""
    job = await brief.opened(steps=protocol("a", "b"))
    directive = await brief.take()
    await brief.acked(directive)
    await brief.in_step(job)
    await brief.worker_away()
    for _ in range(25):
        await brief.signals.nudge(job.job_id)
    await brief.run(job).cancel()
    brief.worker_back()
    await brief.until(job, lambda job: job.state is JobState.CANCELLING)
    await brief.report(directive)
    assert (await brief.ended(job)).status is WorkflowExecutionStatus.CANCELED


def test_a_doubt_goes_along() -> None:
    """A run that disagrees with the ledger and is followed by a fresh one leaves it the question."""
    story = Story().published().acked()
    pilot = Pilot(Start(order=story.order, standing=standing(story.job)))
    fooled = Told(version=story.job.version + 1, state=JobState.SUCCEEDED, at=story.now)
    pilot.hear(cmd.Result(**{**story.reply(), "lease_id": "another"}, result=done()), fooled)
    fresh = Pilot(pilot.restart())
    assert not fresh.over
    assert fresh.wants()


def test_a_nudge_goes_along() -> None:
    """So does a nudge that nobody had looked into."""
    story = Story().published().acked()
    pilot = Pilot(Start(order=story.order, standing=standing(story.job)))
    pilot.nudge()
    assert Pilot(pilot.restart()).wants()
    assert not Pilot(Start(order=story.order, standing=standing(story.job))).wants()


async def _until_fresh(world: LiveWorld, job: Job) -> None:
    """Pause and resume until a second run has taken over."""
    first = (await world.run(job).describe()).run_id

    async def fresh() -> bool:
        await world.control(job, cmd.Pause())
        await world.control(job, cmd.Resume())
        return (await world.run(job).describe()).run_id != first

    await world.poll(fresh, "a fresh run")
