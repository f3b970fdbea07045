"""Many seeded schedules of the real code, and one schedule twice."""

from __future__ import annotations

import pytest

from lucius.testing.simulation import run_schedule
from tests.simulation.searching import as_many, check_replay, search

MODULE = "lucius.testing.simulation"
SCHEDULES = 10_000
MANY = 1_000_000


def test_no_schedule_breaks_a_promise() -> None:
    """Crashes, losses, doubles, delays, outages and controls in any order: every promise holds."""
    search(MODULE, 0, SCHEDULES)


@pytest.mark.proof
def test_no_schedule_of_very_many_breaks_a_promise() -> None:
    """The same with seeds that no other run has used."""
    search(MODULE, SCHEDULES, as_many(MANY))


@pytest.mark.parametrize("seed", [3, 7, 121, 2436])
def test_a_seed_always_goes_the_same_way(seed: int) -> None:
    """A seed that failed can be replayed: the same seed gives the same story, in another process too."""
    check_replay(run_schedule, seed)
