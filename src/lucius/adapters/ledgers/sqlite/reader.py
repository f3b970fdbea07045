"""Queries. All of them go through an index; none grows with what is stored, only with what is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lucius.adapters.ledgers.sqlite import rows
from lucius.adapters.ledgers.sqlite.listing import BODIES, ORDER, page_of
from lucius.core.job import Fault
from lucius.ports.ledger import DeadLetter, JobQuery, OutboxRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from lucius.core.events import Event
    from lucius.core.job import Job

_ONE = f"{BODIES} jobs j {ORDER} WHERE j.job_id = ?"
_EVENTS = "SELECT body FROM events WHERE job_id = ? AND seq > ? ORDER BY seq LIMIT ?"
_CLAIM = "SELECT job_id, expires_at FROM idempotency WHERE tenant_id = ? AND key = ?"
_DUE = "SELECT job_id FROM jobs WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?"
_OPEN = "SELECT job_id FROM jobs WHERE completed_at IS NULL AND job_id > ? ORDER BY job_id LIMIT ?"
_OUTBOX = (
    "SELECT " + ",".join(f"o.{name}" for name in rows.OUTBOX_READ) + " FROM json_each(?) AS wanted "
    "JOIN jobs j ON j.job_id = wanted.value JOIN json_each(j.body, '$.steps') AS s "
    "JOIN outbox o ON o.job_id = j.job_id AND o.step_index = s.key "
    "AND o.attempt_no = s.value->>'$.attempt.attempt_no' "
    "WHERE s.value->>'$.state' IN ('AWAITING_ACK', 'IN_PROGRESS') "
    "OR (s.value->>'$.state' = 'DISPATCHING' AND j.state IN ('QUEUED', 'DISPATCHING', 'IN_PROGRESS'))"
)
_OPEN_COUNTS = (  # the planner would rather read all jobs in the order of the groups
    "SELECT tenant_id, mode, state, count(*) FROM jobs INDEXED BY jobs_open "
    "WHERE completed_at IS NULL GROUP BY 1, 2, 3"
)
_UNSENT = (
    "SELECT count(*) FROM jobs j JOIN steps s USING (job_id) "
    "WHERE j.completed_at IS NULL AND s.state = 'DISPATCHING'"
)
_AT_WORK = (
    "SELECT p.body->>('$.steps[' || s.key || '].step_type'), count(*) FROM jobs j INDEXED BY jobs_open "
    "JOIN orders o ON o.job_id = j.job_id JOIN protocols p ON p.digest = o.protocol "
    "JOIN json_each(j.body, '$.steps') AS s "
    "WHERE j.completed_at IS NULL AND s.value->>'$.state' = 'IN_PROGRESS' GROUP BY 1"
)
_DEAD = "SELECT job_id, tenant_id, step_id, error_code, error_message, dead_at, redriven_as FROM dead_letters"


class Reader:
    """Reads what is committed."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def query(self, sql: str, values: tuple[Any, ...] = ()) -> list[rows.Row]:
        """Rows of one statement."""
        return self._connection.execute(sql, values).fetchall()

    def job(self, job_id: str) -> Job | None:
        """One job, or None."""
        found = self.query(_ONE, (job_id,))
        return rows.read_job(*found[0]) if found else None

    def jobs(self, query: JobQuery) -> list[Job]:
        """Jobs newest first."""
        return [rows.read_job(*row) for row in self.query(*page_of(query))]

    def events(self, job_id: str, after: int, limit: int) -> list[Event]:
        """A job's events in their order."""
        return [rows.read_event(body) for (body,) in self.query(_EVENTS, (job_id, after, limit))]

    def claim(self, tenant_id: str, key: str) -> tuple[str, int | None] | None:
        """Who has this idempotency key, and until when."""
        found = self.query(_CLAIM, (tenant_id, key))
        return (found[0][0], found[0][1]) if found else None

    def outbox(self, job_ids: Sequence[str]) -> list[OutboxRow]:
        """Directives of current attempts."""
        return [rows.read_outbox(row) for row in self.query(_OUTBOX, (json.dumps(list(job_ids)),))]

    def open_jobs(self, after: str, limit: int) -> list[str]:
        """Jobs that are not terminal, by id."""
        return [job_id for (job_id,) in self.query(_OPEN, (after, limit))]

    def open_counts(self) -> tuple[list[rows.Row], int, list[rows.Row]]:
        """(tenant, mode, state, jobs) of what is not over, unsent attempts, (step type, steps) at work."""
        return self.query(_OPEN_COUNTS), self.query(_UNSENT)[0][0], self.query(_AT_WORK)

    def due(self, now: int, limit: int) -> list[str]:
        """Jobs whose time has come."""
        return [job_id for (job_id,) in self.query(_DUE, (now, limit))]

    def due_count(self, now: int) -> tuple[int, int]:
        """How many are due, and for how long the oldest has been."""
        count, oldest = self.query(
            "SELECT count(*), min(due_at) FROM jobs WHERE due_at IS NOT NULL AND due_at <= ?", (now,)
        )[0]
        return count, now - oldest if count else 0

    def dead_letters(self, query: JobQuery) -> list[DeadLetter]:
        """What failed for good."""
        where, values = _tenants(query.tenants, "tenant_id")
        if query.before_id:
            where, values = [*where, "job_id < ?"], [*values, query.before_id]
        sql = f"{_DEAD} WHERE {' AND '.join(where) or 'true'} ORDER BY job_id DESC LIMIT ?"
        return [
            DeadLetter(
                job_id=job_id,
                tenant_id=tenant,
                step_id=step,
                error=Fault(code=code, message=message),
                dead_at=at,
                redriven_as=redriven,
            )
            for job_id, tenant, step, code, message, at, redriven in self.query(sql, (*values, query.limit))
        ]

    def dead_letter_count(self) -> int:
        """Dead letters nobody has redriven."""
        count: int = self.query("SELECT count(*) FROM dead_letters WHERE redriven_as IS NULL")[0][0]
        return count


def _tenants(tenants: frozenset[str] | None, column: str) -> tuple[list[str], list[Any]]:
    if tenants is None:
        return [], []
    if len(tenants) == 1:
        return [f"{column} = ?"], list(tenants)
    return [f"{column} IN (SELECT value FROM json_each(?))"], [json.dumps(sorted(tenants))]
