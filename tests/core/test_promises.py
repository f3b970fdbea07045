"""The checks have teeth: each promise is broken on purpose, and seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide import Decision, Verdict
from lucius.core.decide.replies import MAX_TRACED
from lucius.core.job import Job, Step
from lucius.core.promises import check_decision, check_directives, check_history, check_job, check_slots
from lucius.core.states import JobState, StepState
from lucius.testing.jobs import START, Story, done, lost, order, protocol, render
from tests.core.builders import queued, sent, working


def _with(job: Job, index: int, **changes: object) -> Job:
    steps: list[Step] = list(job.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(job, steps=tuple(steps))


def _names(found: list) -> set[str]:
    return {breach.promise for breach in found}


BROKEN: dict[str, tuple[str, Callable[[], Job]]] = {
    "two active": ("S3", lambda: _with(Story().job, 2, state=StepState.DISPATCHING)),
    "overtaken": (
        "S4", lambda: _with(_with(Story().job, 0, state=StepState.PENDING), 1, state=StepState.AWAITING_ACK)
    ),
    "left pending": ("S5", lambda: _with(Story().finished().job, 2, state=StepState.PENDING)),
    "won but open": ("S5", lambda: _with(working().job, 0, state=StepState.SUCCEEDED)),
    "failed but open": ("S5", lambda: _with(working().job, 0, state=StepState.FAILED_FINAL)),
    "failed without reason": ("S5", lambda: replace(working().result(lost(final=True)).job, error=None)),
    "failed without a failure": (
        "S5", lambda: _with(working().result(lost(final=True)).job, 0, state=StepState.CANCELLED)
    ),
    "cancelled unasked": (
        "S5", lambda: replace(queued().then(cmd.Cancel()).job, cancel_requested_at=None)
    ),
    "succeeded with a failure": (
        "S5", lambda: _with(working().result().job, 0, state=StepState.FAILED_FINAL)
    ),
    "no end": ("S5", lambda: replace(working().result().job, completed_at=None)),
    "no output": ("S16", lambda: replace(working().result().job, final_output=None)),
    "output too soon": ("S16", lambda: replace(working().job, final_output={"uri": "s3://x"})),
    "over budget": ("S7", lambda: _with(working().job, 0, execution_failures=4)),
    "attempt from nothing": (
        "S7", lambda: _with(sent().job, 0, attempt=replace(sent().attempt(), attempt_no=2))
    ),
    "nothing due": ("L1", lambda: _with(working().tick().job, 0, retry_at=None)),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_job_is_seen(case: str) -> None:
    """A job that stands where no job may is named with the promise it breaks."""
    promise, build = BROKEN[case]
    assert promise in _names(check_job(build()))


def _decided(story: Story, **changes: object) -> list:
    before = story.job
    story.acked() if before.steps[0].state is not StepState.IN_PROGRESS else story.result()
    return check_decision(before, replace(story.last, **changes))


def test_a_sound_decision_is_sound() -> None:
    """The checks find nothing where there is nothing."""
    assert _decided(sent()) == []


def test_a_job_its_events_do_not_give_is_seen() -> None:
    """S13: what is stored is what happened."""
    assert "S13" in _names(_decided(sent(), events=()))


def test_an_order_that_changed_is_seen() -> None:
    """S17: nobody swaps the recipe of a running job (trap C8)."""
    story = sent()
    job = story.job
    other = replace(job, order=replace(job.order, protocol=protocol("other")))
    assert "S17" in _names(check_decision(job, Decision(job=other, events=(), verdict=Verdict.ACCEPTED)))


def test_an_attempt_without_its_directive_is_seen() -> None:
    """S10: a created attempt is rendered in the same decision (trap A3)."""
    story = Story()
    before = story.job
    story.result()
    assert "S10" in _names(check_decision(before, replace(story.last, created=())))


def test_a_refusal_that_does_something_is_seen() -> None:
    """S14: a refused command moves nothing."""
    assert "S14" in _names(_decided(sent(), verdict=Verdict.STALE_LEASE))


@pytest.mark.parametrize(("version", "traces"), [(10, 2), (MAX_TRACED, 1)])
def test_too_many_traces_are_seen(version: int, traces: int) -> None:
    """S14: a refused reply leaves one trace at most, and none when the job has very many events."""
    before = replace(working().job, version=version)
    events = tuple(
        ev.ReplyRefused(
            seq=version + number, at=START, reply="ACK", verdict="duplicate", step_id="ocr", attempt_no=1,
            lease_id="l",
        )
        for number in range(1, traces + 1)
    )  # fmt: skip
    after = replace(before, version=version + traces)
    allowed = Decision(job=replace(before, version=version), events=(), verdict=Verdict.DUPLICATE)
    assert check_decision(before, allowed) == []
    assert _names(check_decision(before, replace(allowed, job=after, events=events))) == {"S14"}


def test_a_change_of_what_is_over_is_seen() -> None:
    """S1 and S2: an event that reopens a job cannot be."""
    story = working().result()
    event = ev.AttemptCreated(
        seq=story.job.version + 1, at=START, step_id="ocr", attempt_no=2, lease_id="l", lane=0,
        lease_expires_at=0, publish_due_at=0, dispatch_deadline_at=0,
    )  # fmt: skip
    assert _names(check_history(story.order, [*story.events, event], story.job)) == {"S2"}


def test_an_event_that_moves_a_terminal_job_is_seen() -> None:
    """S1: even a change that keeps the state is a change."""
    story = working().result(lost(final=True))
    event = ev.JobAccepted(seq=story.job.version + 1, at=START, deadline_at=5)
    assert "S1" in _names(check_history(story.order, [*story.events, event], story.job))


def test_a_gap_in_the_history_is_seen() -> None:
    """S13: events are gapless."""
    story = working().result()
    assert "S13" in _names(check_history(story.order, story.events[:2] + story.events[3:], story.job))


def test_rows_that_differ_from_the_history_are_seen_by_name() -> None:
    """S13: the breach says which field lies."""
    story = working()
    found = check_history(story.order, story.events, _with(replace(story.job, updated_at=1), 0, progress=0.5))
    assert {breach.what.split(" is ")[0] for breach in found} == {"updated_at", "ocr.progress"}


def test_a_missing_step_is_seen() -> None:
    """S13: a job has the steps of its order."""
    story = Story()
    assert "S13" in _names(
        check_history(story.order, story.events, replace(story.job, steps=story.job.steps[:2]))
    )


def test_a_second_result_is_seen() -> None:
    """S6: an attempt reports once."""
    story = working().tick()
    result = cmd.Result(**story.reply(), result=lost())
    story.then(result)
    more = ev.StepAcknowledged(
        seq=story.job.version + 1, at=story.now, step_id="ocr", attempt_no=1, lease_expires_at=story.now + 1
    )
    again = ev.StepSucceeded(
        seq=story.job.version + 2, at=story.now, step_id="ocr", attempt_no=1, result=done()
    )
    assert "S6" in _names(check_history(story.order, [*story.events, more, again], story.job))


def test_a_result_of_another_attempt_is_seen() -> None:
    """S6: only the current attempt may report."""
    story = working()
    event = ev.StepSucceeded(
        seq=story.job.version + 1, at=story.now, step_id="ocr", attempt_no=9, result=done()
    )
    assert "S6" in _names(check_history(story.order, [*story.events, event], story.job))


def test_a_first_publish_of_a_paused_job_is_seen() -> None:
    """S11: nothing goes out for the first time while paused (trap B4)."""
    story = queued().then(cmd.Pause())
    event = ev.DirectivePublished(
        seq=story.job.version + 1, at=story.now, step_id="ocr", attempt_no=1, ack_due_at=story.now + 1
    )
    assert "S11" in _names(check_history(story.order, [*story.events, event], story.job))


def test_an_attempt_of_a_paused_job_is_seen() -> None:
    """S11: nothing starts while paused (trap D4)."""
    story = working().result(lost()).then(cmd.Pause())
    event = ev.AttemptCreated(
        seq=story.job.version + 1, at=story.now, step_id="ocr", attempt_no=2, lease_id="l2", lane=0,
        lease_expires_at=0, publish_due_at=0, dispatch_deadline_at=0,
    )  # fmt: skip
    assert "S11" in _names(check_history(story.order, [*story.events, event], story.job))


@pytest.mark.parametrize(("number", "lease"), [(3, "l2"), (2, "lease-1")])
def test_an_attempt_that_skips_or_keeps_its_lease_is_seen(number: int, lease: str) -> None:
    """S7: attempts grow by one, each under a lease of its own."""
    story = working().result(lost())
    event = ev.AttemptCreated(
        seq=story.job.version + 1, at=story.now, step_id="ocr", attempt_no=number, lease_id=lease, lane=0,
        lease_expires_at=0, publish_due_at=0, dispatch_deadline_at=0,
    )  # fmt: skip
    assert "S7" in _names(check_history(story.order, [*story.events, event], story.job))


def test_directives_that_do_not_match_their_attempts_are_seen() -> None:
    """S10: one row an attempt, none too many, none along another route (traps B3, B5)."""
    story = Story()
    row = render(story.job, 0)
    assert check_directives(story.order, story.events, [row]) == []
    for wrong in ([], [row, row], [replace(row, lease_id="other")], [replace(row, lane=row.lane + 1)]):
        assert "S10" in _names(check_directives(story.order, story.events, wrong))


def test_slots_are_the_jobs_that_hold_one() -> None:
    """S12: paused and terminal jobs hold none, and a count that drifted is named (traps A7, A8)."""
    jobs = [queued().job, queued().then(cmd.Pause()).job, working().result().job]
    assert check_slots(jobs, {"acme": 1}) == []
    assert _names(check_slots(jobs, {"acme": 2})) == {"S12"}
    assert _names(check_slots(jobs, {"acme": 1, "gone": 1})) == {"S12"}


def test_a_job_that_ends_cancelled_with_everything_done_is_sound() -> None:
    """S5 allows what the rules allow: the cancel was there first."""
    story = Story(order(steps=protocol("ocr"))).acked().then(cmd.Cancel()).result()
    assert (story.job.state, check_job(story.job)) == (JobState.CANCELLED, [])
