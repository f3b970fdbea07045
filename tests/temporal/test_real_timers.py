from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide import Verdict
from lucius.core.states import JobState, StepState
from lucius.testing.jobs import lost, protocol
from tests.temporal.world import LiveWorld, quick

BARE = 1 + 3 * (3 + 2) + 1
"""Events of a workflow that only does three activities and hears two signals for each, tasks not counted."""


async def test_a_quick_job_costs_one_timer_at_most(world: LiveWorld) -> None:
    """Three steps in a row leave no more behind than the bare calls and signals, and a single timer."""
    job = await world.opened()
    ended = await world.serve(job)
    counts = await world.counts(job)
    assert ended.outcome is not None
    assert ended.outcome.state is JobState.SUCCEEDED
    assert counts["TIMER_STARTED"] <= 1
    assert sum(many for kind, many in counts.items() if "WORKFLOW_TASK" not in kind) <= BARE + 1, counts
    # A task for its start and one for each thing it hears: nothing wakes it up in vain.
    assert counts["WORKFLOW_TASK_COMPLETED"] <= 1 + 3 * (1 + 2), counts


async def test_silence_after_a_directive_brings_a_new_attempt(world: LiveWorld) -> None:
    """Nobody acknowledges: by its own timers the workflow gives up the attempt and draws a new lease."""
    job = await world.opened(steps=protocol(quick("ocr", ack_timeout=700)))
    first = await world.take()
    waits = await world.until(job, lambda job: job.steps[0].state is StepState.FAILED_RETRY)
    second = await world.take()
    assert waits.steps[0].last_error is not None
    assert waits.steps[0].last_error.code == "ACK_TIMEOUT"
    assert (first.attempt_no, second.attempt_no) == (1, 2)
    assert first.lease_id != second.lease_id
    await world.report(second)
    assert (await world.ended(job)).outcome is not None


async def test_silence_to_the_end_fails_the_job(world: LiveWorld) -> None:
    """When every attempt has gone unanswered the workflow fails, and nobody had to tell it."""
    steps = protocol(quick("ocr", ack_timeout=100, max_dispatch_attempts=2))
    job = await world.opened(steps=steps)
    assert [(await world.take()).attempt_no for _ in range(2)] == [1, 2]
    ended = await world.ended(job)
    over = await world.row(job)
    assert ended.failed_with == "FAILED_FINAL"
    assert (over.state, over.error and over.error.code) == (JobState.FAILED_FINAL, "ACK_TIMEOUT")


async def test_a_lease_that_ends_brings_a_new_attempt(world: LiveWorld) -> None:
    """A service that falls silent at work loses its lease on time, and its late result counts for nothing."""
    job = await world.opened(steps=protocol(quick("ocr")))
    first = await world.take()
    await world.acked(first)
    second = await world.take()
    events = await world.ledger.events(job.job_id)
    assert [event.error.code for event in events if isinstance(event, ev.StepRetryScheduled)] == [
        "LEASE_EXPIRED"
    ]
    assert (second.attempt_no, second.lease_id != first.lease_id) == (2, True)
    assert await world.report(first) is Verdict.STALE_LEASE
    await world.report(second)
    assert (await world.ended(job)).outcome is not None


async def test_heartbeats_keep_a_lease_without_a_signal(world: LiveWorld) -> None:
    """Beaten beyond its first end the lease holds: the timer asks, hears of the new end, and waits on."""
    job = await world.opened(steps=protocol(quick("ocr", lease=1_500)))
    directive = await world.take()
    await world.acked(directive)
    acked = (await world.row(job)).steps[0].attempt
    assert acked is not None

    async def beaten() -> bool:
        await world.beat(directive)
        return world.clock() > acked.lease_expires_at and (await world.counts(job))["TIMER_FIRED"] > 0

    await world.poll(beaten, "the timer that was set for its first end")
    await world.report(directive)
    await world.ended(job)
    over = await world.row(job)
    counts = await world.counts(job)
    assert (over.state, over.steps[0].attempt and over.steps[0].attempt.attempt_no) == ("SUCCEEDED", 1)
    assert counts["WORKFLOW_EXECUTION_SIGNALED"] == 2  # the ACK and the RESULT


async def test_a_failed_attempt_is_tried_again_after_its_backoff(world: LiveWorld) -> None:
    """The next directive comes by the workflow's timer, not before the backoff is over."""
    job = await world.opened(steps=protocol(quick("ocr", execution_backoff=(400,))))
    directive = await world.take()
    await world.report(directive, lost())
    retry_at = (await world.row(job)).steps[0].retry_at
    again = await world.take()
    assert retry_at is not None
    assert world.clock() >= retry_at
    assert again.attempt_no == 2


async def test_a_directive_that_cannot_go_out_ends_at_its_deadline(world: LiveWorld) -> None:
    """With the bus away the attempt stays the first one, until the dispatch deadline ends the job."""
    world.bus.away = True
    job = await world.opened(steps=protocol(quick("ocr", dispatch_deadline=400)))
    ended = await world.ended(job)
    over = await world.row(job)
    assert ended.failed_with == "FAILED_FINAL"
    assert (over.attempts_total, over.error and over.error.code) == (1, "DISPATCH_DEADLINE")


async def test_a_job_ends_at_its_deadline(world: LiveWorld) -> None:
    """However well a step goes on: the job's own deadline ends it."""
    job = await world.opened(steps=protocol(quick("ocr", lease=60_000), deadline=1_500))
    await world.acked(await world.take())
    ended = await world.ended(job)
    over = await world.row(job)
    assert ended.failed_with == "FAILED_FINAL"
    assert over.error is not None
    assert over.error.code == "DEADLINE_EXCEEDED"


async def test_a_delayed_job_starts_when_its_time_has_come(world: LiveWorld) -> None:
    """Its workflow sleeps from the start and asks for nothing before."""
    later = world.clock() + 600
    job = await world.opened(steps=protocol(quick("ocr")), not_before=later)
    await world.take()
    events = await world.ledger.events(job.job_id)
    assert [event.at >= later for event in events if isinstance(event, ev.AttemptCreated)] == [True]
    assert (await world.counts(job))["ACTIVITY_TASK_SCHEDULED"] == 1


async def test_a_paused_job_has_no_clock(world: LiveWorld) -> None:
    """A pause lets the step in flight end, starts nothing, and the workflow is done with timers."""
    job = await world.opened(steps=protocol(quick("ocr"), quick("sis")))
    directive = await world.take()
    await world.control(job, cmd.Pause())
    await world.report(directive)
    await world.until(job, lambda job: job.state is JobState.PAUSED)
    await world.control(job, cmd.Resume())
    ended = await world.serve(job)
    assert ended.outcome is not None
    assert ended.outcome.state is JobState.SUCCEEDED
