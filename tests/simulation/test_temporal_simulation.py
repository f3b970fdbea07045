"""Many seeded schedules of the temporal engine on a model of Temporal, and one schedule twice."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lucius.testing.simulation.temporal import run_schedule
from tests.cores import share

MODULE = "lucius.testing.simulation.temporal"
SCHEDULES = 300
MANY = 100_000
WORKERS = share()


def search(first: int, schedules: int) -> None:
    """Run so many seeds, spread over the cores; a seed that breaks a promise is told with its replay."""
    each = -(-schedules // WORKERS)
    children = [
        subprocess.Popen(
            [sys.executable, "-m", MODULE, "--seed", str(seed), "--schedules", str(each)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(first, first + each * WORKERS, each)
    ]
    told = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * WORKERS, "\n".join(told)
    assert all(f"{each} schedules, 0 with a broken promise" in words for words in told)


def test_no_schedule_breaks_a_promise_of_the_temporal_engine() -> None:
    """Whoever dies, whatever Temporal, bus or invoker lose, delay or double: every promise holds."""
    search(0, SCHEDULES)


@pytest.mark.proof
def test_no_schedule_of_very_many_breaks_a_promise_of_the_temporal_engine() -> None:
    """The same with seeds that no other run has used."""
    search(SCHEDULES, int(os.environ.get("LUCIUS_SCHEDULES", MANY)))


@pytest.mark.parametrize("seed", [3, 58, 1049])
def test_a_seed_of_the_temporal_engine_always_goes_the_same_way(seed: int) -> None:
    """A seed that failed can be replayed: the same seed gives the same story, in another process too."""
    here = run_schedule(seed)
    replay = [sys.executable, *here.replay.split()[1:]]
    there = subprocess.run(
        replay,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "99"},
    )
    assert there.stdout == f"{here}\n"
    assert here == run_schedule(seed)
