"""Many seeded schedules of the real code, and one schedule twice."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lucius.testing.simulation import run_schedule
from tests.cores import share

SCHEDULES = 10_000
MANY = 1_000_000
WORKERS = share()


def search(first: int, schedules: int) -> None:
    """Run so many seeds, spread over the cores; a seed that breaks a promise is told with its replay."""
    share = -(-schedules // WORKERS)
    children = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "lucius.testing.simulation",
                "--seed",
                str(seed),
                "--schedules",
                str(share),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(first, first + share * WORKERS, share)
    ]
    told = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * WORKERS, "\n".join(told)
    assert all(f"{share} schedules, 0 with a broken promise" in words for words in told)


def test_no_schedule_breaks_a_promise() -> None:
    """Crashes, losses, doubles, delays, outages and controls in any order: every promise holds."""
    search(0, SCHEDULES)


@pytest.mark.proof
def test_no_schedule_of_very_many_breaks_a_promise() -> None:
    """The same with seeds that no other run has used."""
    search(SCHEDULES, int(os.environ.get("LUCIUS_SCHEDULES", MANY)))


@pytest.mark.parametrize("seed", [3, 7, 121, 2436])
def test_a_seed_always_goes_the_same_way(seed: int) -> None:
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
