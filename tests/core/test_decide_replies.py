from __future__ import annotations

import pytest
from msgspec.structs import replace

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide import Verdict
from lucius.core.decide.replies import MAX_TRACED
from lucius.core.job import StepResult
from lucius.core.states import JobState, StepState
from lucius.testing.jobs import MINUTE, Story, done, lost, order, protocol, recipe
from tests.core.builders import sent, working


def test_a_result_needs_no_ack() -> None:
    """Trap C1: finished work counts even when its ACK was lost, and even before `Published` is recorded."""
    story = Story(order(steps=protocol("ocr"))).result()
    assert story.job.state is JobState.SUCCEEDED
    assert [ev.kind(event) for event in story.last.events] == [
        "step.acknowledged", "step.succeeded", "job.succeeded",
    ]  # fmt: skip


def test_an_early_ack_does_not_go_backwards() -> None:
    """Trap B2: the bus's answer that comes after the ACK changes nothing."""
    story = Story(order(steps=protocol("ocr"))).acked()
    before = story.job
    assert story.published().last.verdict is Verdict.DUPLICATE
    assert story.job == before


def test_success_and_the_next_attempt_are_one_decision() -> None:
    """Trap C2: no moment exists in which a step is done and nothing follows."""
    story = Story().published().acked().result()
    assert [ev.kind(event) for event in story.last.events] == ["step.succeeded", "attempt.created"]
    assert story.last.created == (1,)


def test_the_last_success_ends_the_job_in_the_same_decision() -> None:
    """Trap C3: the job cannot be left open behind its last step."""
    story = Story(order(steps=protocol("ocr"))).published().acked().result(done("s3://o/1"))
    assert story.job.final_output == {"uri": "s3://o/1"}
    assert story.job.completed_at == story.now


def test_without_an_output_the_job_names_its_own() -> None:
    """A last step that reports no output leaves the place the client asked for."""
    story = Story(order(steps=protocol("ocr"))).result(StepResult(status="SUCCEEDED"))
    assert story.job.final_output == story.order.output_ref


@pytest.mark.parametrize("field", ["attempt_no", "lease_id"])
def test_a_stale_reply_leaves_only_its_trace(field: str) -> None:
    """Trap C4: neither an old attempt nor a foreign lease moves anything."""
    story = working()
    who = story.reply() | {field: 7 if field == "attempt_no" else "another"}
    before = story.job
    story.then(cmd.Result(**who, result=done()))
    assert story.last.verdict is Verdict.STALE_LEASE
    (trace,) = story.last.events
    assert isinstance(trace, ev.ReplyRefused)
    assert (trace.reply, trace.verdict, trace.attempt_no) == ("RESULT", "stale_lease", who["attempt_no"])
    assert (story.job.steps, story.job.updated_at) == (before.steps, before.updated_at)


def test_the_first_result_wins() -> None:
    """Trap C4: of two results the second loses, and the same one again is the same one."""
    story = Story().published().acked()
    first = cmd.Result(**story.reply(), result=done())
    second = cmd.Result(**story.reply(), result=lost(final=True))
    assert story.then(first).last.verdict is Verdict.ACCEPTED
    assert story.then(second).last.verdict is Verdict.CONFLICT
    assert story.then(first).last.verdict is Verdict.DUPLICATE
    assert story.step("ocr").state is StepState.SUCCEEDED


def test_a_reply_for_a_step_the_job_does_not_have_is_unknown() -> None:
    """A wrong step id is answered, recorded, and nothing else."""
    story = working().then(cmd.Ack(step_id="nothing", attempt_no=1, lease_id="x"))
    assert story.last.verdict is Verdict.UNKNOWN
    assert len(story.last.events) == 1


@pytest.mark.parametrize(
    ("who", "verdict"),
    [
        ({}, Verdict.DUPLICATE),
        ({"lease_id": "another"}, Verdict.STALE_LEASE),
        ({"step_id": "nothing"}, Verdict.UNKNOWN),
    ],
)
def test_refused_replies_do_not_fill_the_ledger(who: dict[str, str], verdict: Verdict) -> None:
    """A job with very many events answers a refused reply all the same, and keeps no more traces of them."""
    story = working()
    reply = cmd.Ack(**story.reply() | who)
    story.last = replace(story.last, job=replace(story.job, version=MAX_TRACED - 1))
    assert story.then(reply).last.verdict is verdict
    assert [type(event) for event in story.last.events] == [ev.ReplyRefused]
    before = story.job
    assert story.then(reply).last.verdict is verdict
    assert (story.last.events, story.job) == ((), before)


def test_a_job_with_many_events_still_moves() -> None:
    """Only traces end: what counts is recorded however long the job has lived."""
    story = working()
    story.last = replace(story.last, job=replace(story.job, version=MAX_TRACED))
    assert story.result().last.verdict is Verdict.ACCEPTED
    assert story.job.state is JobState.SUCCEEDED
    assert story.job.version == MAX_TRACED + len(story.last.events)


def test_a_retryable_failure_at_the_last_attempt_is_final() -> None:
    """Trap C5: a service that asks for a retry when none is left gets FAILED_FINAL with its own reason."""
    story = Story(order(steps=protocol(recipe("ocr", max_execution_attempts=1)))).acked().result(lost("OOM"))
    assert story.job.state is JobState.FAILED_FINAL
    assert story.job.error is not None
    assert story.job.error.code == "OOM"


def test_a_failure_without_a_reason_still_has_one() -> None:
    """A failed job always says why."""
    story = working().result(StepResult(status="FAILED_FINAL"))
    assert story.job.error is not None
    assert story.job.error.code == "UNSPECIFIED"


def test_a_heartbeat_extends_the_lease_and_remembers_progress() -> None:
    """The lease runs from the last sign of life; a heartbeat that says nothing keeps what was said."""
    story = working()
    story.then(cmd.Heartbeat(**story.reply(), progress=0.25, message="page 3"), MINUTE)
    story.then(cmd.Heartbeat(**story.reply()), MINUTE)
    assert story.attempt().lease_expires_at == story.now + 15 * MINUTE
    assert (story.step().progress, story.step().progress_message) == (0.25, "page 3")


def test_an_attempt_given_up_too_soon_costs_nothing() -> None:
    """A lease that ran out and a late reply of the same attempt are one attempt, not two of the budget."""
    story = working().tick()
    assert story.step().execution_failures == 1
    story.acked()
    assert (story.step().state, story.step().execution_failures) == (StepState.IN_PROGRESS, 0)
    story.result(lost())
    assert story.step().execution_failures == 1


def test_a_late_ack_takes_the_dispatch_failure_back() -> None:
    """Whoever answers after the ACK timeout was not away after all."""
    story = sent().tick()
    assert story.step().dispatch_failures == 1
    assert story.acked().step().dispatch_failures == 0


def test_the_reply_to_a_replaced_attempt_is_stale() -> None:
    """Once a new attempt exists the old one has no say, however right it is."""
    story = working()
    old = story.reply()
    story.tick().tick()
    assert story.attempt().attempt_no == 2
    assert story.then(cmd.Result(**old, result=done())).last.verdict is Verdict.STALE_LEASE
