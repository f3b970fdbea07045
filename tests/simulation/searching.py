"""What the tests of all simulations do: search many seeds in processes of their own, and replay one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tests.cores import share


def search(module: str, first: int, schedules: int) -> None:
    """Run so many seeds, spread over the cores; a seed that breaks a promise is told with its replay."""
    workers = share()
    each = -(-schedules // workers)
    children = [
        subprocess.Popen(
            [sys.executable, "-m", module, "--seed", str(seed), "--schedules", str(each)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(first, first + each * workers, each)
    ]
    told = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * workers, "\n".join(told)
    assert all(f"{each} schedules, 0 with a broken promise" in words for words in told)


def as_many(default: int) -> int:
    """How many schedules a proof searches, unless LUCIUS_SCHEDULES says otherwise."""
    return int(os.environ.get("LUCIUS_SCHEDULES", default))


def check_replay(run_schedule: Callable[[int], Any], seed: int) -> None:
    """The same seed gives the same story, here and in a process with another order of hashes."""
    here = run_schedule(seed)
    there = subprocess.run(
        [sys.executable, *here.replay.split()[1:]],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "99"},
    )
    assert there.stdout == f"{here}\n"
    assert here == run_schedule(seed)
