from __future__ import annotations

import pytest

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide import Verdict
from lucius.core.states import JobState, StepState
from lucius.core.timing import due_at
from lucius.testing.jobs import HOUR, MINUTE, START, Story, done, lost, order, protocol, recipe
from tests.core.builders import ONE, queued, sent, working


def test_a_cancel_with_nothing_in_flight_is_immediate() -> None:
    """Trap D1: nobody is waited for that is not there."""
    story = Story().then(cmd.Cancel(reason="enough"))
    assert story.job.state is JobState.CANCELLED
    assert {step.state for step in story.job.steps} == {StepState.CANCELLED}


def test_a_lease_that_ends_while_cancelling_starts_nothing() -> None:
    """Trap D2: the end of the lease is the end of the job."""
    story = working().then(cmd.Cancel()).tick()
    assert (story.job.state, story.last.created) == (JobState.CANCELLED, ())


def test_a_cancel_against_the_last_result_has_one_winner() -> None:
    """Trap D3: whoever is first wins; there is no final output of a cancelled job."""
    first = working().result().then(cmd.Cancel())
    assert (first.last.verdict, first.job.state) == (Verdict.REFUSED, JobState.SUCCEEDED)
    second = working().then(cmd.Cancel()).result()
    assert (second.job.state, second.job.final_output) == (JobState.CANCELLED, None)


def test_an_unread_directive_does_not_hold_a_cancel_up() -> None:
    """A cancel ends within the ACK timeout when nobody has begun, even if the broker is busy."""
    story = sent().then(cmd.Cancel()).tick(held=frozenset({"ocr"}))
    assert story.job.state is JobState.CANCELLED


def test_force_does_not_wait() -> None:
    """A forced cancel is terminal at once; the reply that comes later is told so."""
    story = working()
    late = cmd.Result(**story.reply(), result=done())
    story.then(cmd.Cancel()).then(cmd.Cancel(force=True))
    assert story.job.state is JobState.CANCELLED
    assert story.then(late).last.verdict is Verdict.AFTER_TERMINAL


def test_a_lease_that_ends_while_pausing_parks_the_step() -> None:
    """Trap D4: no new attempt starts; the step waits for the resume."""
    story = working().then(cmd.Pause()).tick()
    assert (story.job.state, story.step().state) == (JobState.PAUSED, StepState.FAILED_RETRY)
    assert (due_at(story.job), story.last.created) == (None, ())


def test_resuming_twice_publishes_once() -> None:
    """Trap D5: the second resume is a duplicate with nothing to publish."""
    story = queued().then(cmd.Pause()).then(cmd.Resume())
    first = story.last
    second = story.then(cmd.Resume()).last
    assert (first.republish, second.republish, second.events) == ((0,), (), ())
    assert second.verdict is Verdict.DUPLICATE


def test_a_resume_takes_up_a_step_that_waited_for_a_retry() -> None:
    """Trap D6: its attempt is made at once."""
    story = working().then(cmd.Pause()).tick().then(cmd.Resume())
    assert (story.last.created, story.attempt().attempt_no) == ((0,), 2)


def test_a_resume_goes_on_at_the_next_step() -> None:
    """A step that finished during the pause is followed by the next, not by itself."""
    story = Story().published().acked().then(cmd.Pause()).result()
    assert story.job.state is JobState.PAUSED
    assert story.then(cmd.Resume()).last.created == (1,)


def test_a_pause_stops_the_deadline() -> None:
    """A job that slept for ten hours has lost none of its time."""
    story = Story(order(steps=protocol("ocr", deadline=HOUR))).then(cmd.Pause(), 0)
    story.then(cmd.Resume(), 10 * HOUR)
    assert story.job.deadline_at == START + 11 * HOUR
    assert story.attempt().dispatch_deadline_at == START + 11 * HOUR


def test_a_late_ack_does_not_wake_a_deadline_that_stands_still() -> None:
    """A paused job that turns out to be in flight is pausing again; its time has still not run on."""
    story = (
        Story(order(steps=protocol("ocr", deadline=HOUR)))
        .then(cmd.Pause())
        .then(cmd.Ack(step_id="ocr", attempt_no=1, lease_id="lease-1"), 5 * HOUR)
    )
    assert story.job.state is JobState.PAUSING
    story.then(cmd.Tick(), MINUTE)
    assert (story.last.verdict, story.job.state) == (Verdict.DUPLICATE, JobState.PAUSING)
    assert due_at(story.job) == story.attempt().lease_expires_at


def test_time_spent_pausing_is_time_paused() -> None:
    """While one of two waits for its service, the other's dispatch deadline does not run."""
    pair = protocol(recipe("a", group="g", dispatch_deadline=MINUTE), recipe("b", group="g"))
    story = Story(order(steps=pair)).published("b").then(cmd.Pause()).then(cmd.Resume(), 10 * MINUTE)
    story.then(cmd.Tick(), 3_000)
    assert story.step("a").state is StepState.DISPATCHING
    assert story.last.republish == (0,)


@pytest.mark.parametrize("ask", [cmd.Pause(), cmd.Resume()])
def test_what_is_being_cancelled_stays_so(ask: cmd.Command) -> None:
    """Neither pause nor resume revives a job, and the refusal says why."""
    story = working().then(cmd.Cancel()).then(ask)
    assert story.last.refusal is not None
    assert story.last.refusal.code == "JOB_CANCELLING"


@pytest.mark.parametrize("ask", [cmd.Pause(), cmd.Resume(), cmd.Cancel()])
def test_what_is_over_stays_so(ask: cmd.Command) -> None:
    """A terminal job refuses, and the refusal names its state."""
    story = working().result().then(ask)
    assert story.last.refusal is not None
    assert (story.last.refusal.code, "SUCCEEDED" in story.last.refusal.message) == ("JOB_TERMINAL", True)


def test_a_result_during_a_pause_counts() -> None:
    """Work that was done is not done again because somebody paused."""
    story = queued().then(cmd.Pause()).result()
    assert story.job.state is JobState.SUCCEEDED


def test_a_pause_before_the_start_does_not_start_early() -> None:
    """Resumed before its time a delayed job goes on waiting; after it, it starts."""
    story = Story(order(steps=ONE, not_before=START + HOUR)).then(cmd.Pause()).then(cmd.Resume())
    assert (story.last.created, due_at(story.job)) == ((), START + HOUR)
    story.then(cmd.Pause()).then(cmd.Resume(), 2 * HOUR)
    assert story.last.created == (0,)


def test_a_step_that_fails_while_cancelling_does_not_fail_the_job() -> None:
    """The cancel was first: CANCELLED, whatever the step reports."""
    story = working().then(cmd.Cancel()).result(lost(final=True))
    assert (story.job.state, story.job.error) == (JobState.CANCELLED, None)
    assert not any(isinstance(event, ev.JobFailed) for event in story.events)
