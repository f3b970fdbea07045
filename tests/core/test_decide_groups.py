from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core.promises import check_history
from lucius.core.states import JobState, StepState
from lucius.testing.jobs import Story, done, lost, order, protocol, recipe

FAN = protocol("first", recipe("left", group="g"), recipe("right", group="g"), "last")


def _forked() -> Story:
    return Story(order(steps=FAN)).result()


def test_neighbours_of_a_group_start_together_under_leases_of_their_own() -> None:
    """Both get their attempt in the decision that ends the step before them."""
    story = _forked()
    assert story.last.created == (1, 2)
    assert story.attempt("left").lease_id != story.attempt("right").lease_id


def test_what_follows_a_group_waits_for_all_of_it() -> None:
    """One of two done is not done."""
    story = _forked().result(step_id="right")
    assert story.last.created == ()
    assert story.result(step_id="left").last.created == (3,)


def test_a_group_that_fails_takes_its_neighbours_along() -> None:
    """One final failure ends the job and whatever ran beside it."""
    story = _forked().acked("left").result(lost(final=True), "right")
    assert [step.state for step in story.job.steps] == [
        "SUCCEEDED", "CANCELLED", "FAILED_FINAL", "CANCELLED",
    ]  # fmt: skip
    assert check_history(story.order, story.events, story.job) == []


def test_a_cancel_waits_for_everything_in_flight() -> None:
    """Two in flight: the cancel ends with the second."""
    story = _forked().acked("left").acked("right").then(cmd.Cancel()).result(lost(), "left")
    assert (story.job.state, story.step("left").state) == (JobState.CANCELLING, StepState.CANCELLED)
    assert story.result(lost(final=True), "right").job.state is JobState.CANCELLED


def test_a_pause_waits_for_everything_in_flight() -> None:
    """Two in flight: paused when both are over."""
    story = _forked().acked("left").acked("right").then(cmd.Pause()).result(step_id="left")
    assert story.job.state is JobState.PAUSING
    assert story.result(step_id="right").job.state is JobState.PAUSED


def test_one_tick_sees_to_every_step() -> None:
    """Two leases that end at once are two retries in one decision."""
    story = _forked().published("left").published("right")
    story.then(cmd.Tick(), 40_000)
    assert {story.step("left").state, story.step("right").state} == {StepState.FAILED_RETRY}


def test_a_retried_job_starts_where_its_ancestor_failed() -> None:
    """What the ancestor finished is inherited; the first attempt is at the failed step."""
    story = Story(order(steps=FAN, start_index=1, inherited=(done("s3://old/1"),)))
    assert story.last.created == (1, 2)
    assert story.step("first").result == done("s3://old/1")


def test_a_retried_job_that_inherits_everything_is_done() -> None:
    """A job cancelled after its last success is SUCCEEDED when retried, without work."""
    story = Story(order(steps=protocol("ocr"), start_index=1, inherited=(done("s3://old/1"),)))
    assert (story.job.state, story.job.final_output) == (JobState.SUCCEEDED, {"uri": "s3://old/1"})
    assert story.last.created == ()
