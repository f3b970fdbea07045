"""Running jobs through a server, and waiting for the last one to end."""

from __future__ import annotations

import time
from typing import Any

import apsw
import msgspec

from bench.load import Load, Spec, load
from bench.orders import submits
from bench.processes import Server

STUCK_AFTER = 120.0


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of jobs took, from the first submit to the last terminal state."""

    jobs: int
    seconds: float
    cpu_seconds: float
    submits: Load

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU time of the server a job."""
        return 1000 * self.cpu_seconds / self.jobs


def run_jobs(server: Server, count: int, connections: int, *, first: int, **more: Any) -> Ran:
    """Submit over HTTP, then wait until all are over; the end is what the ledger says it was."""
    cpu = server.cpu_seconds()
    requests = submits(server.port, **more)
    spec = Spec(port=server.port, requests=requests, count=count, connections=connections, first=first)
    submitted = load(spec, expect=202)
    ended = drained(server)
    return Ran(
        jobs=count,
        seconds=ended - submitted.started,
        cpu_seconds=server.cpu_seconds() - cpu,
        submits=submitted,
    )


def drained(server: Server) -> float:
    """When the last job ended; asks the file, so that waiting costs the server nothing."""
    reader = apsw.Connection(server.ledger, flags=apsw.SQLITE_OPEN_READONLY)
    reader.set_busy_timeout(5000)
    until = time.monotonic() + STUCK_AFTER
    try:
        while _running(reader):
            if time.monotonic() > until:
                message = f"{_running(reader)} jobs have not ended within {STUCK_AFTER:.0f} s"
                raise RuntimeError(message)
            time.sleep(0.02)
        newest = "SELECT max(completed_at) FROM jobs WHERE completed_at IS NOT NULL"
        return float(reader.execute(newest).get) / 1000
    finally:
        reader.close()


def _running(reader: apsw.Connection) -> int:
    """Open jobs, without those that wait for a day far away."""
    soon = int(time.time() * 1000) + 7 * 86_400_000
    sql = "SELECT count(*) FROM jobs WHERE completed_at IS NULL AND coalesce(due_at, 0) < ?"
    return int(reader.execute(sql, (soon,)).get)
