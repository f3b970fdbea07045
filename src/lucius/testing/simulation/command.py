"""The command line of a simulation: one schedule again, or many of them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Outcome(Protocol):
    """How a schedule ended."""

    @property
    def broken(self) -> Sequence[object]: ...  # noqa: D102
    @property
    def replay(self) -> str: ...  # noqa: D102


def command(
    module: str,
    run_schedule: Callable[[int], Outcome],
    run_schedules: Callable[[Iterable[int]], Iterable[Outcome]],
) -> int:
    """0 when every promise was kept."""
    what = "--seed N replays one schedule; --schedules N runs many"
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=what)
    parser.add_argument("--seed", type=int, default=0, help="the schedule to run, or the first of many")
    parser.add_argument("--schedules", type=int, default=0, help="how many to run from there on")
    parser.add_argument("--first", action="store_true", help="stop at the first broken promise")
    asked = parser.parse_args()
    say = sys.stdout.write
    if not asked.schedules:
        outcome = run_schedule(asked.seed)
        say(f"{outcome}\n")
        return 1 if outcome.broken else 0
    ran = failures = 0
    for outcome in run_schedules(range(asked.seed, asked.seed + asked.schedules)):
        ran += 1
        if outcome.broken:
            failures += 1
            say(f"{outcome.replay}  # {outcome.broken[0]}\n")
            if asked.first:
                break
    say(f"{ran} schedules, {failures} with a broken promise\n")
    return 1 if failures else 0
