from __future__ import annotations

import pytest
from msgspec.structs import replace

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Decision, decide, open_job
from lucius.core.events import AttemptCreated
from lucius.core.job import Attempt, Job, Step
from lucius.core.promises import check_decision
from lucius.core.timing import due_at
from lucius.testing.jobs import order
from tests.core.exploration import SHAPES, explored

NOTHING_STARTS = Chance(lease_id="")
LEASE = Chance(lease_id="later")


def _times_forgotten(job: Job) -> Job:
    """When an attempt began differs by the time between two decisions, and its lease by who drew it."""
    return replace(job, version=0, updated_at=0, steps=tuple(_step(step) for step in job.steps))


def _step(step: Step) -> Step:
    attempt = step.attempt and Attempt(
        attempt_no=step.attempt.attempt_no, lease_id="", created_at=0, lease_expires_at=0, publish_due_at=0,
        dispatch_deadline_at=0, publish_tries=step.attempt.publish_tries,
    )  # fmt: skip
    return replace(step, attempt=attempt, updated_at=0)


def _then(decision: Decision) -> Decision:
    return decide(decision.job, cmd.Tick(), decision.job.updated_at, LEASE)


STARTING = [shape for shape in SHAPES if shape != "inherited"]  # which is over when it is opened


@pytest.mark.parametrize("shape", STARTING)
def test_without_a_lease_nothing_starts_and_a_lease_later_starts_the_same(shape: str) -> None:
    """Whoever judges without a lease loses nothing: the next Tick with one starts what would have started."""
    started = 0
    for found in explored(shape):
        plain = decide(found.before, found.command, found.decision.job.updated_at, NOTHING_STARTS)
        assert plain.created == ()
        assert check_decision(found.before, plain) == []
        if found.decision.created and not isinstance(found.command, cmd.Tick):
            then = _then(plain)
            if all(isinstance(event, AttemptCreated) for event in then.events):  # no other clock ran out
                started += 1
                assert _times_forgotten(then.job) == _times_forgotten(found.decision.job)
    assert started


@pytest.mark.parametrize("shape", STARTING)
def test_a_job_opened_without_a_lease_is_due_soon(shape: str) -> None:
    """L1: a job that nobody has begun has a wake-up time, and a Tick then begins it."""
    opened = open_job(order(**SHAPES[shape]), NOTHING_STARTS)
    assert (opened.created, len(opened.events)) == ((), 1)
    due = due_at(opened.job)
    assert due is not None
    assert due >= opened.job.updated_at
    begun = decide(opened.job, cmd.Tick(), due, LEASE)
    assert begun.created
    assert check_decision(opened.job, begun) == []
