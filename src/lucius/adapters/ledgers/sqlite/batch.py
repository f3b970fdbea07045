"""What one transaction will write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lucius.adapters.ledgers.sqlite import deliveries, rows
from lucius.core import events as ev
from lucius.core.states import JobState

if TYPE_CHECKING:
    import asyncio

    from lucius.core.job import Job
    from lucius.ports.ledger import Change, Claim

Statement = tuple[str, Sequence[tuple[Any, ...]]]
"""SQL, and the rows it is run for."""


def _insert(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({','.join(columns)}) VALUES ({','.join('?' * len(columns))})"


def _upsert(table: str, fixed: tuple[str, ...], moving: tuple[str, ...], key: str) -> str:
    changes = ",".join(f"{name}=excluded.{name}" for name in moving)
    return f"{_insert(table, fixed + moving)} ON CONFLICT ({key}) DO UPDATE SET {changes}"


PROTOCOLS = _insert("protocols", ("digest", "body")).replace("INSERT", "INSERT OR IGNORE", 1)
ORDERS = _insert("orders", rows.ORDERS)
JOBS = _upsert("jobs", rows.JOB_FIXED, rows.JOB_MOVING, "job_id")
EVENTS = _insert("events", rows.EVENTS)
OUTBOX = _insert("outbox", rows.OUTBOX)
CLAIMS = _insert(
    "idempotency", ("tenant_id", "key", "job_id", "expires_at", "release_on_failure", "created_at")
).replace("INSERT", "INSERT OR REPLACE", 1)
RELEASED = (
    "DELETE FROM idempotency WHERE release_on_failure = 1 AND tenant_id = ? AND job_id = ? "
    "AND key = (SELECT claim_key FROM orders WHERE job_id = ?)"
)
DEAD = _insert("dead_letters", ("job_id", "tenant_id", "step_id", "error_code", "error_message", "dead_at"))
REDRIVEN = "UPDATE dead_letters SET redriven_as = ? WHERE job_id = ?"
DELIVERIES = _insert("deliveries", deliveries.INSERT_COLUMNS)


class Batch:
    """Changes that will become durable together. A job that changes often is written once."""

    __slots__ = ("base", "changes", "claim_rows", "claims", "jobs", "keys", "raw", "waiting")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.jobs: dict[str, Job] = {}
        self.base: dict[str, Job | None] = {}
        self.claims: dict[tuple[str, str], str] = {}
        self.claim_rows: list[rows.Row] = []
        self.keys: dict[str, str] = {}
        self.raw: list[Statement] = []
        self.waiting: list[tuple[asyncio.Future[Any], Any]] = []

    def add(self, old: Job | None, change: Change) -> None:
        """Take one change in."""
        job = change.decision.job
        self.changes.append(change)
        self.base.setdefault(job.order.job_id, old)
        self.jobs[job.order.job_id] = job

    def claim(self, claim: Claim, job_id: str, now: int) -> None:
        """Take an idempotency key in."""
        self.claims[claim.tenant_id, claim.key] = job_id
        self.keys[job_id] = claim.key
        self.claim_rows.append(
            (claim.tenant_id, claim.key, job_id, claim.expires_at, int(claim.release_on_failure), now)
        )

    def statements(self) -> list[Statement]:
        """The transaction, statement by statement."""
        new = [job for job_id, job in self.jobs.items() if self.base[job_id] is None]
        found: list[tuple[str, list[rows.Row]]] = [
            (PROTOCOLS, list({rows.protocol_row(job.order.protocol) for job in new})),
            (ORDERS, [rows.order_row(job.order, self.keys[job.order.job_id]) for job in new]),
            (JOBS, [rows.job_row(job) for job in self.jobs.values()]),
            (EVENTS, self._events()),
            (OUTBOX, [rows.outbox_row(row) for change in self.changes for row in change.outbox]),
            (CLAIMS, self.claim_rows),
            (RELEASED, self._unsuccessful()),
            (DEAD, self._dead()),
            (REDRIVEN, [(j.order.job_id, j.order.ancestor_id) for j in new if j.order.ancestor_id]),
            (DELIVERIES, self._deliveries()),
        ]
        return [(sql, many) for sql, many in found if many] + self.raw

    def _events(self) -> list[rows.Row]:
        return [
            rows.event_row(change.decision.job.order.job_id, event)
            for change in self.changes
            for event in change.decision.events
        ]

    def _ended(self) -> list[Job]:
        return [
            job
            for job_id, job in self.jobs.items()
            if job.completed_at is not None and ((old := self.base[job_id]) is None or not old.terminal)
        ]

    def _unsuccessful(self) -> list[rows.Row]:
        return [
            (job.order.tenant_id, job.order.job_id, job.order.job_id)
            for job in self._ended()
            if job.state is not JobState.SUCCEEDED
        ]

    def _dead(self) -> list[rows.Row]:
        dead = []
        for change in self.changes:
            job, last = change.decision.job, change.decision.events
            for event in last:
                if isinstance(event, ev.JobFailed):
                    step_id = job.steps[job.current_index].step_id
                    error = event.error
                    dead.append(
                        (job.order.job_id, job.order.tenant_id, step_id, error.code, error.message, event.at)
                    )
        return dead

    def _deliveries(self) -> list[rows.Row]:
        return [deliveries.insert_row(new) for change in self.changes for new in change.deliveries]
