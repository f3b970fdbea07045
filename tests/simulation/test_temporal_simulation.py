"""Many seeded schedules of the temporal engine on a model of Temporal, and one schedule twice."""

from __future__ import annotations

import pytest

from lucius.testing.simulation.temporal import run_schedule
from tests.simulation.searching import as_many, check_replay, search

MODULE = "lucius.testing.simulation.temporal"
SCHEDULES = 300
MANY = 100_000


def test_no_schedule_breaks_a_promise_of_the_temporal_engine() -> None:
    """Whoever dies, whatever Temporal, bus or invoker lose, delay or double: every promise holds."""
    search(MODULE, 0, SCHEDULES)


@pytest.mark.proof
def test_no_schedule_of_very_many_breaks_a_promise_of_the_temporal_engine() -> None:
    """The same with seeds that no other run has used."""
    search(MODULE, SCHEDULES, as_many(MANY))


@pytest.mark.parametrize("seed", [3, 58, 1049])
def test_a_seed_of_the_temporal_engine_always_goes_the_same_way(seed: int) -> None:
    """A seed that failed can be replayed: the same seed gives the same story, in another process too."""
    check_replay(run_schedule, seed)
