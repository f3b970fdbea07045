from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide import Verdict
from lucius.core.states import JobState, StepState
from lucius.core.timing import due_at
from lucius.testing.jobs import HOUR, MINUTE, SECOND, START, Story, lost, order, protocol, recipe
from tests.core.builders import ONE, TIMED, queued, sent, working


def test_a_publish_retry_keeps_attempt_and_lease() -> None:
    """Trap B1: only `publish_tries` grows while the bus is away."""
    story = queued()
    before = story.attempt()
    for tries in (1, 2, 3, 4):
        story.unpublished()
        assert story.attempt().publish_tries == tries
    assert (story.attempt().attempt_no, story.attempt().lease_id) == (1, before.lease_id)
    assert story.attempt().publish_due_at - story.now == 10 * MINUTE
    assert story.step().last_error is not None


def test_a_sweep_republishes_without_counting() -> None:
    """What the fast path missed goes out again; nothing is spent."""
    story = queued().tick()
    assert story.last.republish == (0,)
    assert story.last.created == ()
    assert story.attempt().publish_tries == 0
    assert story.attempt().publish_due_at == story.now + 30 * SECOND


def test_the_dispatch_deadline_ends_it() -> None:
    """A bus that stays away until the dispatch deadline fails the step, on its first attempt."""
    story = queued().then(cmd.Tick(), HOUR)
    assert (story.job.state, story.attempt().attempt_no) == (JobState.FAILED_FINAL, 1)
    assert story.job.error is not None
    assert story.job.error.code == "DISPATCH_DEADLINE"


def test_ack_backoff_follows_its_own_schedule() -> None:
    """Nobody acknowledged: 1 min, then 5 min, then no more."""
    story = sent()
    waits = []
    for _ in range(2):
        story.tick()
        waits.append((story.step().retry_at or 0) - story.now)
        story.tick().published()
    assert waits == [MINUTE, 5 * MINUTE]
    assert story.tick().job.state is JobState.FAILED_FINAL
    assert story.attempt().attempt_no == 3


def test_execution_backoff_follows_its_own_schedule() -> None:
    """Work failed: 30 s, then 2 min; dispatch failures between them do not count there."""
    story = working().result(lost())
    assert (story.step().retry_at or 0) - story.now == 30 * SECOND
    story.tick().published().tick().tick().published().acked().result(lost())
    assert (story.step().retry_at or 0) - story.now == 2 * MINUTE
    assert (story.step().dispatch_failures, story.step().execution_failures) == (1, 2)


def test_a_step_that_waits_for_a_retry_is_due() -> None:
    """Trap C6: FAILED_RETRY always has a due time, and it is the retry's."""
    story = working().result(lost())
    assert due_at(story.job) == story.step().retry_at


def test_a_directive_a_busy_broker_holds_is_no_failure() -> None:
    """Trap B7: unread while its services are busy, it is waited for as long as it takes."""
    story = sent()
    held = frozenset({"ocr"})
    story.tick(held=held)
    assert [ev.kind(event) for event in story.last.events] == ["directive.waiting"]
    assert story.attempt().ack_due_at == story.now + 30 * SECOND
    story.then(cmd.Tick(held=held), 5 * HOUR)
    assert [ev.kind(event) for event in story.last.events] == ["directive.waiting"]
    assert story.attempt().ack_due_at == story.now + 300 * SECOND
    story.tick()
    assert story.step().state is StepState.FAILED_RETRY


def test_a_lease_that_ends_at_the_last_attempt_is_final() -> None:
    """Trap C5: lease end with nothing left is FAILED_FINAL."""
    story = Story(order(steps=protocol(recipe("ocr", max_execution_attempts=1)))).acked().tick()
    assert story.job.error is not None
    assert (story.job.state, story.job.error.code) == (JobState.FAILED_FINAL, "LEASE_EXPIRED")


def test_remaining_steps_end_with_the_job() -> None:
    """Trap C7: nothing stays PENDING behind a failed job."""
    story = Story().acked().result(lost(final=True))
    assert [step.state for step in story.job.steps] == ["FAILED_FINAL", "CANCELLED", "CANCELLED"]


def test_a_delayed_job_starts_when_its_time_comes() -> None:
    """Before `not_before` there is no attempt; at it there is one."""
    story = Story(order(steps=ONE, not_before=START + MINUTE))
    assert (story.last.created, due_at(story.job)) == ((), START + MINUTE)
    assert story.tick().last.created == (0,)


def test_the_deadline_counts_from_the_start_that_was_asked_for() -> None:
    """A delayed job is not late before it begins."""
    story = Story(order(steps=TIMED, not_before=START + 2 * HOUR))
    assert story.job.deadline_at == START + 3 * HOUR


def test_a_missed_deadline_fails_the_active_step() -> None:
    """DEADLINE_EXCEEDED is an outcome like any other: step, job, and the rest cancelled."""
    steps = protocol(recipe("ocr", lease=9 * HOUR), "sis", deadline=HOUR)
    story = Story(order(steps=steps)).acked().then(cmd.Tick(), HOUR)
    assert [step.state for step in story.job.steps] == ["FAILED_FINAL", "CANCELLED"]
    assert story.job.error is not None
    assert story.job.error.code == "DEADLINE_EXCEEDED"
    assert (story.step("ocr").dispatch_failures, story.step("ocr").execution_failures) == (0, 0)


def test_a_deadline_cuts_a_cancel_short() -> None:
    """What is being cancelled ends CANCELLED, not FAILED_FINAL, when its deadline passes."""
    steps = protocol(recipe("ocr", lease=9 * HOUR), deadline=HOUR)
    story = Story(order(steps=steps)).acked().then(cmd.Cancel()).then(cmd.Tick(), HOUR)
    assert story.job.state is JobState.CANCELLED


def test_a_clock_that_steps_back_changes_no_order() -> None:
    """Time never runs backwards within a job."""
    story = working()
    story.then(cmd.Heartbeat(**story.reply()), -HOUR)
    assert story.last.events[0].at == story.events[-2].at


def test_the_bus_is_heard_only_about_the_current_attempt() -> None:
    """`Published` and `PublishFailed` of an attempt that is not current are stale."""
    story = queued()
    assert story.then(cmd.Published(step_id="ocr", attempt_no=2)).last.verdict is Verdict.STALE_LEASE
    assert story.then(cmd.Published(step_id="sis", attempt_no=1)).last.verdict is Verdict.STALE_LEASE
    assert story.last.events == ()
