"""Real jobs as patterns: every row that Lucius wrote for them, with holes for what is a job's own.

A few jobs of each kind run through a real server. Their rows are read back from its ledger, and ids,
hashes, leases, times and document numbers in them become holes. Filling the holes gives the rows of
another job that could have run the same way.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import apsw

from bench.jobs import drained
from bench.orders import SLOT, TENANTS, envelope, post
from bench.processes import Server, ask, lucius

FAR = "2100-01-01T00:00:00Z"
LATEST = 4 * 10**12
"""Later moments stay where they are."""
TABLES = ("orders", "jobs", "events", "outbox", "idempotency", "dead_letters")
_HOLES = re.compile(
    r"(?P<job>[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})|(?P<hash>\b[0-9a-f]{64}\b)"
    r"|(?P<lease>\b[0-9a-f]{32}\b)|(?P<number>\b9[0-9]{11}\b)|(?P<time>\b1[0-9]{12}\b)"
)

Filled = tuple[Any, ...]


class Pattern:
    """One real job; `rows` are the rows of another one like it."""

    def __init__(self, tables: dict[str, list[Filled]], accepted_at: int, digests: frozenset[str]) -> None:
        self._accepted_at = accepted_at
        self._digests = digests
        self._leases: dict[str, str] = {}
        self._times: dict[str, int] = {}
        self._tables = [
            (table, [[self._cell(value) for value in row] for row in rows]) for table, rows in tables.items()
        ]

    def rows(self, number: int, at: int, into: dict[str, list[Filled]]) -> None:
        """Add the rows of a job accepted at that time to those of each table."""
        chance = os.urandom(64).hex()
        job_id = f"{at >> 16:08x}-{at & 0xFFFF:04x}-7{chance[:3]}-8{chance[3:6]}-{chance[6:18]}"
        shift = at - self._accepted_at
        holes = {"job": job_id, "hash": chance[:64], "number": f"{number:012d}"}
        for place, lease in enumerate(self._leases.values()):
            holes[lease] = chance[64 + place : 96 + place]
        for name, moment in self._times.items():
            holes[name] = str(moment + shift)
        for table, rows in self._tables:
            into[table].extend([
                tuple([
                    cell + shift if type(cell) is Moment else cell % holes if type(cell) is Text else cell
                    for cell in row
                ])
                for row in rows
            ])  # fmt: skip

    def _cell(self, value: Any) -> Any:
        """A constant, a Moment that is shifted, or a Text with holes."""
        if type(value) is int:
            return Moment(value) if 10**12 < value < LATEST else value
        if type(value) is not str or value in self._digests:
            return value
        text = _HOLES.sub(self._hole, value.replace("%", "%%"))
        return Text(text) if "%(" in text else value

    def _hole(self, found: re.Match[str]) -> str:
        kind, text = str(found.lastgroup), found[0]
        if kind == "lease":
            kind = self._leases.setdefault(text, f"lease{len(self._leases)}")
        elif kind == "time":
            if int(text) >= LATEST:
                return text
            kind = f"time{text}"
            self._times[kind] = int(text)
        return f"%({kind})s"


class Moment(int):
    """Milliseconds that move with the job."""


class Text(str):
    """A text with holes."""

    __slots__ = ()


def collect(home: Path) -> tuple[dict[str, list[Pattern]], list[Filled], dict[str, list[str]]]:
    """Patterns by kind (one a tenant), the protocol rows, and the columns of each table."""
    wanted: dict[str, list[str]] = {}
    with lucius(home) as server:
        for number, tenant in enumerate(TENANTS):
            for kind, job_id in _jobs_of(server, tenant, 900_000_000_000 + 10 * number).items():
                wanted.setdefault(kind, []).append(job_id)
        time.sleep(0.1)
        drained(server)
    ledger = apsw.Connection(server.ledger, flags=apsw.SQLITE_OPEN_READONLY)
    columns = {table: [row[1] for row in ledger.execute(f"PRAGMA table_info({table})")] for table in TABLES}
    protocols = ledger.execute("SELECT * FROM protocols").fetchall()
    digests = frozenset(str(row[0]) for row in protocols)
    patterns = {
        kind: [_read(ledger, job_id, columns, digests) for job_id in ids] for kind, ids in wanted.items()
    }
    ledger.close()
    return patterns, protocols, columns


def _read(
    ledger: apsw.Connection, job_id: str, columns: dict[str, list[str]], digests: frozenset[str]
) -> Pattern:
    tables = {
        table: ledger.execute(
            f"SELECT {','.join(columns[table])} FROM {table} WHERE job_id = ?", (job_id,)
        ).fetchall()
        for table in TABLES
    }
    accepted: Any = tables["jobs"][0][columns["jobs"].index("created_at")]
    return Pattern({table: rows for table, rows in tables.items() if rows}, accepted, digests)


def _jobs_of(server: Server, tenant: str, number: int) -> dict[str, str]:
    """One job of each kind; the document numbers start with a 9, so that they can be found again."""
    named = {"doc_id": f"doc-{SLOT}", "correlation_id": f"correlation-{SLOT}"}
    failing = {"ocr": {"echo": {"fail": "final"}}, "embedding": {}, "sis": {}}
    kinds: dict[str, dict[str, Any]] = {
        "succeeded": envelope(tenant, **named),
        "short": envelope(tenant, **named) | {"request_type": "OCR", "payload": {"ocr": {"dpi": 300}}},
        "failed": envelope(tenant, **named) | {"payload": failing},
        "cancelled": envelope(tenant, **named, not_before=FAR),
        "waiting": envelope(tenant, **named, not_before=FAR),
    }
    found = {}
    for place, (kind, body) in enumerate(kinds.items()):
        text = post("/v1/orchestrate", body, server.port).replace(SLOT, str(number + place))
        answer = ask(server.port, text)
        found[kind] = str(json.loads(answer[answer.find(b"\r\n\r\n") + 4 :])["jobId"])
        if kind == "cancelled":
            ask(server.port, post(f"/v1/jobs/{found[kind]}:cancel", {}, server.port))
    return found
