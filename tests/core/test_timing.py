from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.core import commands as cmd
from lucius.core.timing import backoff, due_at, in_flight
from lucius.testing.jobs import HOUR, MINUTE, START, Story, lost, order, protocol, recipe
from tests.core.builders import queued, sent, working

SCHEDULE = (30_000, 120_000, 600_000)


@pytest.mark.parametrize(
    ("failures", "wait"), [(0, 30_000), (1, 30_000), (2, 120_000), (3, 600_000), (9, 600_000)]
)
def test_backoff_follows_the_schedule_and_stays_at_its_end(failures: int, wait: int) -> None:
    """The n-th failure waits the n-th time, later ones the last."""
    assert backoff(SCHEDULE, failures, 0.2, 0.5) == wait


def test_an_empty_schedule_waits_for_nothing() -> None:
    """No schedule, no wait."""
    assert backoff((), 3, 0.2, 0.5) == 0


@given(st.integers(0, 9), st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_jitter_stays_within_its_bounds(failures: int, jitter: float, spread: float) -> None:
    """Trap B7: the wait is moved by at most ±jitter and is never negative."""
    base = SCHEDULE[min(max(failures, 1), 3) - 1]
    wait = backoff(SCHEDULE, failures, jitter, spread)
    assert max(0, round(base * (1 - jitter))) - 1 <= wait <= round(base * (1 + jitter)) + 1


def test_jitter_spreads() -> None:
    """Two jobs that fail together do not come back together."""
    assert backoff(SCHEDULE, 1, 0.2, 0.0) < backoff(SCHEDULE, 1, 0.2, 0.5) < backoff(SCHEDULE, 1, 0.2, 0.99)


def test_the_nearest_timer_is_due() -> None:
    """Of several timers the first counts: the deadline before a long lease, a lease before it else."""
    near = Story(order(steps=protocol(recipe("a", lease=9 * HOUR), deadline=HOUR))).acked()
    assert due_at(near.job) == START + HOUR
    far = Story(order(steps=protocol(recipe("a", lease=MINUTE), deadline=HOUR))).acked()
    assert due_at(far.job) == far.attempt().lease_expires_at


def test_the_dispatch_deadline_is_a_timer() -> None:
    """An unsent directive is due at its next try, or at its dispatch deadline if that is first."""
    story = Story(order(steps=protocol(recipe("a", dispatch_deadline=1_000))))
    assert due_at(story.job) == START + 1_000
    assert due_at(queued().job) == START + 2_000


def test_nothing_is_due_of_what_is_over_or_paused() -> None:
    """No clock runs there."""
    assert due_at(working().result().job) is None
    assert due_at(queued().then(cmd.Pause()).job) is None


def test_waiting_for_a_retry_is_not_in_flight() -> None:
    """In flight is what a service may be at work on."""
    assert [in_flight(story.job) for story in (queued(), sent(), working(), working().result(lost()))] == [
        False, True, True, False,
    ]  # fmt: skip
