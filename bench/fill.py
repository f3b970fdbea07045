"""A ledger with many jobs in it, made quickly: real rows, written in bulk without waiting for the disk.

Of 25 jobs 18 succeeded in three steps, 1 in one step, 3 failed for good, 2 were cancelled, 1 waits for a
day far away; they belong to eight tenants in turn and were accepted evenly over the last twenty days.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from bench.orders import TENANTS
from bench.patterns import TABLES, Pattern, collect
from lucius.adapters.ledgers.sqlite.reader import Reader
from lucius.adapters.ledgers.sqlite.schema import migrate
from lucius.runtime.offline import verify_ledger

SPAN = 20 * 86_400_000
CHUNK = 20_000
SAMPLED = 500
"""Ids that are handed out: as many of a small ledger as of a large one, or reading would not compare."""
KINDS = ("succeeded",) * 18 + ("short",) + ("failed",) * 3 + ("cancelled",) * 2 + ("waiting",)
BYTES_PER_JOB = 16_000
"""Room that is asked for; a job takes about half of it."""


def fill(home: Path, count: int, source: Path, tell: Callable[[str], None]) -> list[str]:
    """Make `home/ledger.db` with `count` jobs; some of their ids."""
    patterns, protocols, columns = collect(source)
    home.mkdir(parents=True, exist_ok=True)
    ledger = apsw.Connection(str(home / "ledger.db"))
    ledger.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-1000000")
    migrate(ledger)
    ledger.executemany("INSERT INTO protocols VALUES (?, ?)", protocols)
    insert = {
        table: f"INSERT INTO {table} ({','.join(names)}) VALUES ({','.join('?' * len(names))})"
        for table, names in columns.items()
    }
    start = int(time.time() * 1000) - SPAN
    ids: list[str] = []
    for first in range(0, count, CHUNK):
        last = min(first + CHUNK, count)
        rows = _rows(range(first, last), patterns, start, SPAN / count)
        job_ids = [row[columns["jobs"].index("job_id")] for row in rows["jobs"]]
        ids += [job_ids[number - first] for number in range(first, last) if number % (count // SAMPLED) == 0]
        with ledger:
            for table, many in rows.items():
                ledger.executemany(insert[table], many)
        tell(f"filling the ledger: {last:,} of {count:,} jobs")
    ledger.close()
    tell("writing the ledger to disk")
    with (home / "ledger.db").open("rb") as written:
        os.fsync(written.fileno())  # or the first commits would wait for all of it
    return ids


def _rows(
    numbers: range, patterns: dict[str, list[Pattern]], start: int, step: float
) -> dict[str, list[tuple[Any, ...]]]:
    rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in TABLES}
    for number in numbers:
        pattern = patterns[KINDS[(number // len(TENANTS)) % len(KINDS)]][number % len(TENANTS)]
        pattern.rows(number, start + int(number * step), rows)
    rows["idempotency"].sort()  # by key, which is random: neighbours share a page
    return rows


def check(home: Path, count: int, ids: list[str]) -> None:
    """The filled ledger is one Lucius could have written: a small one is verified, a large one probed."""
    path = home / "ledger.db"
    if count <= CHUNK:
        found = verify_ledger(path)
        assert (found.jobs, found.findings) == (count, ())
    ledger = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    reader = Reader(ledger)
    assert ledger.execute("SELECT count(*) FROM jobs").get == count
    for job_id in ids[:: max(1, len(ids) // 200)]:
        job = reader.job(job_id)
        assert job is not None
        assert job.order.job_id == job_id
        events = reader.events(job_id, 0, 1000)
        assert [event.seq for event in events] == list(range(1, job.version + 1))
        assert job.terminal == (job.completed_at is not None)
    ledger.close()
