"""What one transaction will write.

Rows travel to SQLite as one JSON array per table and are unpacked there by `json_each`: the writer
thread then needs the interpreter a few times per batch instead of a few times per row. With a busy
event loop beside it that is the difference between 11 and 2,300 microseconds a row
(docs/decisions/0003-batches-as-json.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from lucius.adapters.ledgers.sqlite import rows
from lucius.adapters.ledgers.sqlite.deliveries import INSERT_COLUMNS, insert_row
from lucius.core import events as ev
from lucius.core.states import JobState

if TYPE_CHECKING:
    import asyncio

    from lucius.core.job import Job
    from lucius.ports.ledger import Change, Claim

Statement = tuple[str, tuple[Any, ...]]


def _select(count: int) -> str:
    return "SELECT " + ",".join(f"value->>{i}" for i in range(count)) + " FROM json_each(?) WHERE true"


def _insert(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({','.join(columns)}) {_select(len(columns))}"


def _upsert(table: str, fixed: tuple[str, ...], moving: tuple[str, ...], key: str) -> str:
    changes = ",".join(f"{name}=excluded.{name}" for name in moving)
    return f"{_insert(table, fixed + moving)} ON CONFLICT ({key}) DO UPDATE SET {changes}"


ORDERS = _insert("orders", ("job_id", "body"))
JOBS = _upsert("jobs", rows.JOB_FIXED, rows.JOB_MOVING, "job_id")
STEPS = _upsert("steps", rows.STEP_FIXED, rows.STEP_MOVING, "job_id,step_index")
EVENTS = _insert("events", ("job_id", "seq", "type", "at", "body"))
OUTBOX = _insert("outbox", rows.OUTBOX)
CLAIMS = _insert(
    "idempotency", ("tenant_id", "key", "job_id", "expires_at", "release_on_failure", "created_at")
).replace("INSERT", "INSERT OR REPLACE", 1)
RELEASED = (
    "DELETE FROM idempotency WHERE job_id IN (SELECT value FROM json_each(?)) AND release_on_failure = 1"
)
DEAD = _insert("dead_letters", ("job_id", "tenant_id", "step_id", "error_code", "error_message", "dead_at"))
REDRIVEN = (
    "UPDATE dead_letters SET redriven_as = j.value->>1 FROM json_each(?) AS j WHERE job_id = j.value->>0"
)
DELIVERIES = _insert("deliveries", INSERT_COLUMNS)


class Batch:
    """Changes that will become durable together. A job that changes often is written once."""

    __slots__ = ("base", "changes", "claims", "claims_rows", "jobs", "raw", "waiting")

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.jobs: dict[str, Job] = {}
        self.base: dict[str, Job | None] = {}
        self.claims: dict[tuple[str, str], str] = {}
        self.claims_rows: list[rows.Row] = []
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
        self.claims_rows.append(
            (claim.tenant_id, claim.key, job_id, claim.expires_at, int(claim.release_on_failure), now)
        )

    def statements(self) -> list[Statement]:
        """The transaction, statement by statement."""
        new = [job for job_id, job in self.jobs.items() if self.base[job_id] is None]
        found: list[tuple[str, list[Any]]] = [
            (ORDERS, [(job.order.job_id, rows.text(job.order)) for job in new]),
            (JOBS, [rows.job_row(job) for job in self.jobs.values()]),
            (STEPS, [rows.step_row(job, step) for job, step in self._changed_steps()]),
            (EVENTS, self._events()),
            (OUTBOX, [rows.outbox_row(row) for change in self.changes for row in change.outbox]),
            (CLAIMS, self.claims_rows),
            (RELEASED, self._unsuccessful()),
            (DEAD, self._dead()),
            (REDRIVEN, [(j.order.ancestor_id, j.order.job_id) for j in new if j.order.ancestor_id]),
            (DELIVERIES, self._deliveries()),
        ]
        return [(sql, (orjson.dumps(many).decode(),)) for sql, many in found if many] + self.raw

    def _changed_steps(self) -> list[tuple[Job, Any]]:
        changed = []
        for job_id, job in self.jobs.items():
            old = self.base[job_id]
            for step in job.steps:
                if old is None or old.steps[step.index] is not step:
                    changed.append((job, step))
        return changed

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

    def _unsuccessful(self) -> list[str]:
        return [job.order.job_id for job in self._ended() if job.state is not JobState.SUCCEEDED]

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
        return [insert_row(new) for change in self.changes for new in change.deliveries]
