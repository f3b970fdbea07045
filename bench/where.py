"""Where the CPU time of a job goes: `python -m bench.where [--save FILE]`.

Runs jobs through a sampled server (see `bench.sampler`) and prints microseconds a job by area, for
submits alone and for whole three-step jobs.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench.jobs import drained
from bench.load import Spec, load
from bench.orders import submits
from bench.processes import lucius
from bench.sampler import Profile

JOBS = 8000


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Microseconds of CPU time a job."""

    total: float
    areas: dict[str, float]
    functions: dict[str, float]


def measure(home: Path, services: str) -> Where:
    """One kind of run: `echo` for whole jobs, `none` for submits."""
    target = home / f"{services}.json"
    with lucius(home / services, services=services, module=("bench.sampler", str(target))) as server:
        requests = submits(server.port)
        load(Spec(port=server.port, requests=requests, count=1000, connections=128), expect=202)
        if services == "echo":
            drained(server)
        os.kill(server.pid, signal.SIGUSR1)
        cpu = server.cpu_seconds()
        load(Spec(port=server.port, requests=requests, count=JOBS, connections=128, first=1000), expect=202)
        if services == "echo":
            drained(server)
        total = 1e6 * (server.cpu_seconds() - cpu) / JOBS
    found = msgspec.json.decode(target.read_bytes(), type=Profile)
    scale = total / sum(found.areas.values())
    return Where(
        total=total,
        areas={name: count * scale for name, count in _sorted(found.areas)},
        functions={name: count * scale for name, count in _sorted(found.functions)[:40]},
    )


def _sorted(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])


def main() -> None:
    """Measure both, print both."""
    parser = argparse.ArgumentParser(prog="python -m bench.where", description="Where the CPU time goes")
    parser.add_argument("--save", type=Path, metavar="FILE", help="also keep it as JSON")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="lucius-where-") as home,
        Console(stderr=True).status("measuring"),
    ):
        found = {"job": measure(Path(home), "echo"), "submit": measure(Path(home), "none")}
    for name, where in found.items():
        table = Table("µs", "share", f"CPU time of a {name}", box=None, header_style="dim")
        for area, spent in where.areas.items():
            table.add_row(f"{spent:.0f}", f"{spent / where.total:.0%}", area)
        table.add_row(f"{where.total:.0f}", "", "together", style="bold")
        for function, spent in list(where.functions.items())[:25]:
            table.add_row(f"{spent:.1f}", "", f"  {function}", style="dim")
        Console().print(table)
    if asked.save:
        asked.save.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


if __name__ == "__main__":
    main()
