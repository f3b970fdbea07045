"""`python -m lucius.testing.simulation.temporal --seed N` replays one schedule; `--schedules N` runs many."""

from __future__ import annotations

import argparse
import sys

from lucius.testing.simulation.temporal import run_schedule, run_schedules


def main() -> int:
    """0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m lucius.testing.simulation.temporal", description=__doc__)
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


if __name__ == "__main__":
    sys.exit(main())
