"""Whether a ledger file keeps the promises that rows and events can show.

It reads, and only reads, a live ledger or a stopped one, a page of jobs at a time, each page from one
snapshot, so memory does not grow with the ledger. Every job is replayed from its events and compared
with its rows; then it looks for rows that belong to no job. A finding names the promise, the job, and
what is wrong.

    S1 S2 S6 S7 S11 S13 S14 S16   replaying the events, move by move, gives the job row
    S3 S4 S5 L1                   the job row as it stands
    S8                            keys point at jobs that exist; no two jobs share an explicit key
    S10                           one outbox row per attempt, whose bytes speak of that attempt
    S12 S15                       what is counted and scoped by is what the job says
    S17                           the protocol is the one that was stored under its digest
    FILE                          SQLite itself finds the file sound
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import msgspec

from lucius.adapters.ledgers.sqlite import stored
from lucius.adapters.ledgers.sqlite.schema import MIGRATIONS
from lucius.core.promises import Breach
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from lucius.adapters.ledgers.sqlite.rows import Row

Progress = Callable[[int, int], None]

PAGE = 200
MAX_FINDINGS = 1_000

_ORPHANS = (
    ("orders", "S13", "an order without its job"),
    ("events", "S13", "events without their job"),
    ("outbox", "S10", "directives without their job"),
    ("idempotency", "S8", "an idempotency key that points at no job"),
    ("dead_letters", "S5", "a dead letter without its job"),
    ("deliveries", "S13", "webhook deliveries without their job"),
)
_SHARED_KEYS = (
    "SELECT max(j.job_id), j.tenant_id, count(*) FROM orders o JOIN jobs j ON j.job_id = o.job_id "
    "WHERE o.claim_key LIKE 'k:%' GROUP BY j.tenant_id, o.claim_key HAVING count(*) > 1 LIMIT ?"
)
_FOREIGN = (
    "SELECT t.job_id, j.tenant_id, t.tenant_id FROM {} t JOIN jobs j ON j.job_id = t.job_id "
    "WHERE t.tenant_id IS NOT j.tenant_id LIMIT ?"
)


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification read, and what it found."""

    path: str
    schema_version: int
    jobs: int
    events: int
    directives: int
    broken: int
    """How many findings there were; only the first thousand are kept."""
    findings: tuple[Breach, ...]

    @property
    def ok(self) -> bool:
        """True when no promise is seen broken."""
        return self.broken == 0


class _Findings:
    """Keeps the first ones, counts all."""

    def __init__(self) -> None:
        self.kept: list[Breach] = []
        self.count = 0

    def add(self, found: Iterator[Breach] | list[Breach]) -> None:
        for breach in found:
            self.count += 1
            if len(self.kept) < MAX_FINDINGS:
                self.kept.append(breach)


def verify(path: Path | str, *, progress: Progress | None = None) -> VerifyReport:
    """Check every promise that this ledger can show. Raises `Unavailable` if it is no ledger of ours."""
    connection, version = _open(Path(path))
    findings = _Findings()
    jobs = events = directives = 0
    try:
        total: int = _rows(connection, "SELECT count(*) FROM jobs LIMIT ?")[0][0]
        after = ""
        while page := stored.page(connection, after, PAGE):
            for job in page:
                findings.add(stored.check(job))
                events += len(job.events)
                directives += len(job.outbox)
            jobs += len(page)
            after = page[-1].job_id
            if progress is not None:
                progress(jobs, max(total, jobs))
        findings.add(_across(connection))
    except apsw.CorruptError as error:
        findings.add([Breach(promise="FILE", job_id="", what=f"the file cannot be read: {error}")])
    finally:
        connection.close()
    return VerifyReport(
        path=str(path),
        schema_version=version,
        jobs=jobs,
        events=events,
        directives=directives,
        broken=findings.count,
        findings=tuple(findings.kept),
    )


def _across(connection: apsw.Connection) -> Iterator[Breach]:
    """What no single job can show."""
    for table, promise, what in _ORPHANS:
        sql = f"SELECT DISTINCT job_id FROM {table} WHERE job_id NOT IN (SELECT job_id FROM jobs) LIMIT ?"
        for (job_id,) in _rows(connection, sql):
            yield Breach(promise=promise, job_id=job_id, what=what)
    for job_id, tenant, count in _rows(connection, _SHARED_KEYS):
        yield Breach(promise="S8", job_id=job_id, what=f"{count} jobs of {tenant} share an explicit key")
    for table in ("idempotency", "dead_letters", "deliveries"):
        for job_id, owner, named in _rows(connection, _FOREIGN.format(table)):
            yield Breach(
                promise="S15", job_id=job_id, what=f"{table}: a row of {named}, the job is {owner}'s"
            )
    for (line,) in _rows(connection, "SELECT quick_check FROM pragma_quick_check LIMIT ?"):
        if line != "ok":
            yield Breach(promise="FILE", job_id="", what=line)


def _rows(connection: apsw.Connection, sql: str) -> list[Row]:
    return connection.execute(sql, (MAX_FINDINGS,)).fetchall()


def _open(path: Path) -> tuple[apsw.Connection, int]:
    """A connection that cannot write; a file of a closed ledger on a read-only disk is read as it is."""
    if not path.is_file():
        raise Unavailable(f"{path} is not there", code="LEDGER_UNREADABLE")
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        try:
            connection = apsw.Connection(f"{path.resolve().as_uri()}", flags=flags)
            version = connection.pragma("user_version")
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            connection = apsw.Connection(f"{path.resolve().as_uri()}?immutable=1", flags=flags)
            version = connection.pragma("user_version")
        connection.set_busy_timeout(5000)
    except apsw.Error as error:
        raise Unavailable(f"{path} cannot be read as a ledger: {error}", code="LEDGER_UNREADABLE") from error
    if version != len(MIGRATIONS):
        connection.close()
        message = f"{path} has schema version {version}, this Lucius verifies version {len(MIGRATIONS)}"
        raise Unavailable(message, code="LEDGER_TOO_NEW" if version > len(MIGRATIONS) else "LEDGER_TOO_OLD")
    return connection, version
