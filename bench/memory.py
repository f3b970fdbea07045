"""Memory at rest, and whether it grows with the jobs that have passed through."""

from __future__ import annotations

from bench.figures import Figure, Run, at_most, plain
from bench.jobs import run_jobs
from bench.processes import lucius

PART = "memory"
CHUNK = 5000


def measure(run: Run) -> list[Figure]:
    """Resident memory after the start, after the first jobs, and after many more."""
    early, late = (20_000, 100_000) if run.full else (10_000, 30_000)
    found: dict[int, float] = {}
    with lucius(run.home / "memory") as server:
        at_rest = server.rss_mb()
        for done in range(CHUNK, late + 1, CHUNK):
            run.tell(f"{done:,} of {late:,} jobs")
            run_jobs(server, CHUNK, run.connections, first=done)
            found[done] = server.rss_mb()
    growth = found[late] - found[early]
    return [
        plain(PART, "memory at rest", "MB", [at_rest], at_most(120)),
        plain(PART, f"memory after {early:,} jobs", "MB", [found[early]]),
        # An allocator's page or two is no growth; a leak of 100 bytes a job would be 8 MB.
        plain(PART, f"growth from {early:,} to {late:,} jobs", "MB", [growth], at_most(2.0)),
    ]
