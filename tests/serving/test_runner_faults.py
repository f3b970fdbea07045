"""Many seeded schedules of real runners against the real Lucius, with everything going wrong that may."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cores import share
from tests.serving.fault_world import replay, run_schedules

SCHEDULES = 400
MANY = 100_000
WORKERS = share()


def search(first: int, schedules: int) -> None:
    """Run so many seeds, spread over the cores; a seed that breaks a promise is told with its replay."""
    share = -(-schedules // WORKERS)
    command = [sys.executable, "-m", "tests.serving.fault_world", "--schedules", str(share), "--seed"]
    children = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in range(first, first + share * WORKERS, share)
    ]
    told = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * WORKERS, "\n".join(told)
    assert all(f"{share} schedules, 0 with a broken promise" in words for words in told)


def test_no_schedule_breaks_a_promise_of_a_service() -> None:
    """Processes that die, sleep or stop, a store and a Lucius that fail at any call: R0 to R10 hold."""
    search(0, SCHEDULES)


@pytest.mark.proof
def test_no_schedule_of_very_many_breaks_a_promise_of_a_service() -> None:
    """The same with seeds that no other run has used."""
    search(SCHEDULES, int(os.environ.get("LUCIUS_SCHEDULES", MANY)))


def test_a_seed_of_services_always_goes_the_same_way() -> None:
    """A seed that failed can be replayed: the same seed gives the same story, in another process too."""
    seeds = (3, 11, 43, 203)
    here = list(run_schedules(seeds))
    assert here == list(run_schedules(seeds))
    line = replay(here[-1]).partition("#")[0]
    there = subprocess.run(
        [sys.executable, *line.split()[1:]],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "99"},
    )
    assert there.stdout.startswith(f"{here[-1]}\n")
