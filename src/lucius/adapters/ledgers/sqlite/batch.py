"""What one transaction will write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lucius.adapters.ledgers.sqlite import deliveries, rows
from lucius.core import events as ev
from lucius.core.states import JobState, StepState

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

    __slots__ = (
        "base", "changes", "claim_rows", "claims", "deliveries", "events", "jobs", "orders", "outbox",
        "protocols", "purged", "raw", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.protocols: set[rows.Row] = set()
        self.orders: list[rows.Row] = []
        self.events: list[rows.Row] = []
        self.outbox: list[rows.Row] = []
        self.deliveries: list[rows.Row] = []
        self.jobs: dict[str, Job] = {}
        self.base: dict[str, Job | None] = {}
        self.claims: dict[tuple[str, str], str] = {}
        self.claim_rows: list[rows.Row] = []
        self.purged: set[str] = set()
        self.raw: list[Statement] = []
        self.waiting: list[tuple[asyncio.Future[Any], Any]] = []

    def add(self, old: Job | None, change: Change) -> None:
        """Take one change in, whole or not at all: what cannot be encoded raises before anything is kept."""
        job_id = change.decision.job.order.job_id
        events = [rows.event_row(job_id, event) for event in change.decision.events]
        outbox = [rows.outbox_row(row) for row in change.outbox]
        self.deliveries += [deliveries.insert_row(new) for new in change.deliveries]
        self.events += events
        self.outbox += outbox
        self.changes.append(change)
        self.base.setdefault(job_id, old)
        self.jobs[job_id] = change.decision.job

    def open(self, claim: Claim, change: Change) -> None:
        """Take a new job in, with its order and its idempotency key; whole or not at all."""
        job = change.decision.job
        protocol, order = rows.protocol_row(job.order.protocol), rows.order_row(job.order, claim.key)
        self.add(None, change)
        self.protocols.add(protocol)
        self.orders.append(order)
        self.claims[claim.tenant_id, claim.key] = job.job_id
        release = int(claim.release_on_failure)
        self.claim_rows.append(
            (claim.tenant_id, claim.key, job.job_id, claim.expires_at, release, job.updated_at)
        )

    def statements(self) -> list[Statement]:
        """The transaction, statement by statement."""
        new = [job for job_id, job in self.jobs.items() if self.base[job_id] is None]
        found: list[tuple[str, list[rows.Row]]] = [
            (PROTOCOLS, list(self.protocols)),
            (ORDERS, self.orders),
            (JOBS, [rows.job_row(job) for job in self.jobs.values()]),
            (EVENTS, self.events),
            (OUTBOX, self.outbox),
            (CLAIMS, self.claim_rows),
            (RELEASED, self._unsuccessful()),
            (DEAD, self._dead()),
            (REDRIVEN, [(j.order.job_id, j.order.ancestor_id) for j in new if j.order.ancestor_id]),
            (DELIVERIES, self.deliveries),
        ]
        return [(sql, many) for sql, many in found if many] + self.raw

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
                    step_id, error = _failed_step(job), event.error
                    dead.append(
                        (job.order.job_id, job.order.tenant_id, step_id, error.code, error.message, event.at)
                    )
        return dead


def _failed_step(job: Job) -> str:
    """The step that failed; of a job that failed before any began, the one it stood at."""
    for step in job.steps:
        if step.state is StepState.FAILED_FINAL:
            return step.step_id
    return job.steps[job.current_index].step_id
