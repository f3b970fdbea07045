"""`python -m lucius.testing.simulation.temporal --seed N` replays one schedule; `--schedules N` runs many."""

from __future__ import annotations

import sys

from lucius.testing.simulation.command import command
from lucius.testing.simulation.temporal import run_schedule, run_schedules

if __name__ == "__main__":
    sys.exit(command("lucius.testing.simulation.temporal", run_schedule, run_schedules))
