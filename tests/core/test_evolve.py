from __future__ import annotations

from typing import Any

import pytest

from lucius.core import events as ev
from lucius.core.evolve import _APPLY, blank, evolve, replay
from lucius.core.states import JobState
from lucius.errors import Broken
from lucius.testing.jobs import START, Story, done, order, protocol
from tests.core.builders import queued, working


def _all_events(kind: type) -> set[type]:
    below: list[type] = kind.__subclasses__()
    return {kind} if not below else set().union(*map(_all_events, below))


def test_every_event_is_applied() -> None:
    """An event without its effect fails here, and so does one missing from the union that is stored."""
    leaves = _all_events(ev.Event)
    assert set(_APPLY) == leaves
    assert set(ev.AnyEvent.__args__) == leaves


def test_every_event_has_a_name_of_its_own() -> None:
    """The public names are told apart."""
    names = [ev.kind(each(**_fields(each))) for each in _APPLY]
    assert len(set(names)) == len(names)


def _fields(kind: type[ev.Event]) -> dict[str, Any]:
    return dict.fromkeys((field for field in kind.__struct_fields__), 1)


def test_replaying_the_events_gives_the_job() -> None:
    """The rows can be rebuilt from the events alone."""
    story = Story().finished()
    assert replay(story.order, story.events) == story.job


def test_a_gap_is_refused() -> None:
    """An event that does not follow the one before it never takes effect."""
    story = working()
    with pytest.raises(Broken, match="cannot follow"):
        replay(story.order, story.events[:1] + story.events[2:])


def test_a_move_that_is_not_in_the_table_is_refused() -> None:
    """A job cannot be moved by an event that has no business there."""
    job = queued().job
    with pytest.raises(Broken, match="may not move QUEUED to PAUSING"):
        evolve(job, ev.JobPausing(seq=job.version + 1, at=START))


def test_a_step_move_that_is_not_in_the_table_is_refused() -> None:
    """A step cannot succeed before anybody had it."""
    job = queued().job
    event = ev.StepSucceeded(seq=job.version + 1, at=START, step_id="ocr", attempt_no=1, result=done())
    with pytest.raises(Broken, match="may not move DISPATCHING to SUCCEEDED"):
        evolve(job, event)


def test_an_event_for_no_step_is_refused() -> None:
    """A history that speaks of steps the job does not have is broken."""
    job = queued().job
    with pytest.raises(Broken, match="no step"):
        evolve(job, ev.StepCancelled(seq=job.version + 1, at=START, step_id="nothing"))


def test_an_event_for_no_attempt_is_refused() -> None:
    """A step without an attempt has nothing to publish."""
    job = blank(order(steps=protocol("ocr")))
    with pytest.raises(Broken, match="no attempt"):
        evolve(job, ev.DirectivePublished(seq=1, at=START, step_id="ocr", attempt_no=1, ack_due_at=START))


def test_what_is_over_has_no_further_attempt() -> None:
    """Even an event that somebody forged cannot reopen a job."""
    job = working().result().job
    with pytest.raises(Broken, match="may not move SUCCEEDED to CANCELLED"):
        evolve(job, ev.JobCancelled(seq=job.version + 1, at=START))
    assert job.state is JobState.SUCCEEDED


def test_a_finished_job_stands_at_its_last_step() -> None:
    """There is always a step to name."""
    story = Story()
    assert (story.job.current_index, story.job.attempts_total) == (0, 1)
    assert (story.finished().job.current_index, story.job.attempts_total) == (2, 3)
