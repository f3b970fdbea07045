"""`python -m bench [PART …] [--full] [--json]`."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from bench import (
    attempts,
    growth,
    latency,
    lifebook,
    memory,
    services,
    starting,
    submits,
    temporal,
    throughput,
)
from bench.figures import Figure, Outcome, Run
from bench.show import show
from lucius import __version__

PARTS = {
    "throughput": throughput.measure,
    "submits": submits.measure,
    "latency": latency.measure,
    "services": services.measure,
    "attempts": attempts.measure,
    "lifebook": lifebook.measure,
    "starting": starting.measure,
    "temporal": temporal.measure,
    "memory": memory.measure,
    "growth": growth.measure,
}


def main() -> None:
    """Measure what was asked for, and say it."""
    asked = _arguments()
    console = Console(stderr=True)
    started, load_before = time.monotonic(), os.getloadavg()
    figures: list[Figure] = []
    with (
        tempfile.TemporaryDirectory(prefix="lucius-bench-", dir=os.environ.get("LUCIUS_BENCH_DIR")) as home,
        console.status("starting") as status,
    ):
        for part in asked.parts or PARTS:
            below = Path(home) / part
            below.mkdir()
            run = Run(
                home=below,
                connections=asked.connections,
                full=asked.full,
                stored=asked.stored,
                tell=lambda words, part=part: status.update(f"{part}: {words}"),  # type: ignore[misc]
            )
            figures += PARTS[part](run)
            console.print(f"{part} measured", style="dim")
    outcome = Outcome(
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        machine=f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
        load_before=list(load_before),
        load_after=list(os.getloadavg()),
        seconds=time.monotonic() - started,
        figures=figures,
    )
    written = msgspec.json.format(msgspec.json.encode(outcome), indent=1)
    if asked.save:
        asked.save.write_bytes(written + b"\n")
    if asked.json:
        sys.stdout.write(written.decode() + "\n")
    else:
        show(outcome, Console())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure Lucius beside its baselines"
    )
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[[], *PARTS], help=", ".join(PARTS))
    parser.add_argument("--full", action="store_true", help="100,000 jobs for memory instead of 30,000")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--save", type=Path, metavar="FILE", help="also keep the figures as JSON")
    parser.add_argument("--connections", type=int, default=128, metavar="N", help="requests under way (128)")
    parser.add_argument("--stored", type=int, default=1_000_000, metavar="N", help="jobs of the large ledger")
    return parser.parse_args()


if __name__ == "__main__":
    main()
