"""`python -m lucius.testing.simulation --seed N` replays one schedule; `--schedules N` runs many."""

from __future__ import annotations

import sys

from lucius.testing.simulation import run_schedule, run_schedules
from lucius.testing.simulation.command import command

if __name__ == "__main__":
    sys.exit(command("lucius.testing.simulation", run_schedule, run_schedules))
