"""Three-step jobs a second over HTTP with echo services, against the bare loop of `bench.replay`."""

from __future__ import annotations

from bench.figures import ROUNDS, Figure, Run, at_least, at_most, compared, plain
from bench.jobs import run_jobs
from bench.processes import lucius
from bench.replay import Replay, replay

PART = "throughput"
JOBS = 5000


def measure(run: Run) -> list[Figure]:
    """Record once, then bare loop and Lucius in turn."""
    run.tell("recording what Lucius writes")
    recording = run.home / "recording"
    with lucius(run.home / "recorded", module=("bench.recorder", str(recording))) as server:
        run_jobs(server, JOBS, run.connections, first=0)
    bare: list[Replay] = []
    ours = []
    with lucius(run.home / "throughput") as server:
        run_jobs(server, 1000, run.connections, first=0)
        for number in range(1, ROUNDS + 1):
            run.tell(f"round {number} of {ROUNDS}: {JOBS} jobs")
            bare.append(replay(recording, run.home / "bare.db"))
            ours.append(run_jobs(server, JOBS, run.connections, first=number * JOBS))
    jobs = bare[0].jobs
    return [
        compared(
            PART, "three-step jobs over HTTP", "jobs/s", [one.rate for one in ours],
            baseline="bare loop, same rows", against=[one.rate for one in bare], aim=at_least(0.33),
        ),
        plain(PART, "server CPU a job", "ms", [one.cpu_ms for one in ours], at_most(1.0)),
        plain(PART, "bare loop CPU a job", "ms", [1000 * one.cpu_seconds / one.jobs for one in bare]),
        plain(PART, "rows written a job", "rows", [bare[0].rows / jobs]),
        plain(PART, "jobs a commit", "jobs", [jobs / bare[0].commits]),
    ]  # fmt: skip
