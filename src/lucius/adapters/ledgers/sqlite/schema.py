"""Tables of the SQLite ledger, and how an older file becomes a current one.

`PRAGMA user_version` says how many of the MIGRATIONS a file has had. A file made by a newer Lucius
is refused, never touched. What is fixed when a job is accepted lives in `orders`, so that the rows
that change stay small; an outbox row is written once and its state follows from its step.
"""

from __future__ import annotations

import apsw

from lucius.adapters.ledgers.sqlite.deliveries import DDL as _DELIVERIES
from lucius.errors import Unavailable

_V1 = """
CREATE TABLE orders (
    job_id TEXT PRIMARY KEY, body TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, request_type TEXT NOT NULL,
    protocol_id TEXT NOT NULL, mode TEXT NOT NULL, doc_id TEXT, correlation_id TEXT,
    ancestor_id TEXT, created_at INTEGER NOT NULL,
    state TEXT NOT NULL, version INTEGER NOT NULL, current_step_id TEXT NOT NULL,
    current_step_index INTEGER NOT NULL, attempts_total INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    completed_at INTEGER, error_code TEXT, error_message TEXT, final_output TEXT,
    deadline_at INTEGER, paused_at INTEGER, cancel_requested_at INTEGER, due_at INTEGER
) WITHOUT ROWID;
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, job_id);
CREATE INDEX jobs_by_state ON jobs (tenant_id, state, job_id);
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_open ON jobs (job_id) WHERE completed_at IS NULL;
CREATE INDEX jobs_done ON jobs (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX jobs_by_correlation ON jobs (correlation_id, job_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX jobs_by_doc ON jobs (tenant_id, doc_id, job_id) WHERE doc_id IS NOT NULL;
CREATE TABLE steps (
    job_id TEXT NOT NULL, step_index INTEGER NOT NULL, step_id TEXT NOT NULL, step_type TEXT NOT NULL,
    service TEXT NOT NULL, lane INTEGER NOT NULL, created_at INTEGER NOT NULL,
    state TEXT NOT NULL, updated_at INTEGER NOT NULL, completed_at INTEGER,
    attempt_no INTEGER, lease_id TEXT, lease_expires_at INTEGER, attempt_created_at INTEGER,
    publish_due_at INTEGER, dispatch_deadline_at INTEGER, publish_tries INTEGER, published_at INTEGER,
    ack_due_at INTEGER, acked_at INTEGER, dispatch_failures INTEGER NOT NULL,
    execution_failures INTEGER NOT NULL, retry_at INTEGER, result TEXT, last_error_code TEXT,
    last_error_message TEXT, progress REAL, progress_message TEXT,
    PRIMARY KEY (job_id, step_index)
) WITHOUT ROWID;
CREATE TABLE outbox (
    job_id TEXT NOT NULL, step_index INTEGER NOT NULL, attempt_no INTEGER NOT NULL,
    message_id TEXT NOT NULL, tenant_id TEXT NOT NULL, step_id TEXT NOT NULL, lease_id TEXT NOT NULL,
    subject TEXT NOT NULL, topic TEXT NOT NULL, lane INTEGER NOT NULL, mode TEXT NOT NULL,
    priority INTEGER NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, step_index, attempt_no)
) WITHOUT ROWID;
CREATE TABLE events (
    job_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (job_id, seq)
) WITHOUT ROWID;
CREATE TABLE idempotency (
    tenant_id TEXT NOT NULL, key TEXT NOT NULL, job_id TEXT NOT NULL, expires_at INTEGER,
    release_on_failure INTEGER NOT NULL, created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_job ON idempotency (job_id);
CREATE TABLE dead_letters (
    job_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, step_id TEXT, error_code TEXT NOT NULL,
    error_message TEXT NOT NULL, dead_at INTEGER NOT NULL, redriven_as TEXT
) WITHOUT ROWID;
CREATE INDEX dead_letters_by_tenant ON dead_letters (tenant_id, job_id);
CREATE VIEW outbox_states AS
    SELECT o.*, CASE
        WHEN s.attempt_no > o.attempt_no OR s.published_at IS NOT NULL THEN 'SENT'
        WHEN s.state = 'DISPATCHING' THEN 'PENDING' ELSE 'FAILED_FINAL' END AS state
    FROM outbox o JOIN steps s USING (job_id, step_index);
"""

MIGRATIONS: tuple[str, ...] = (_V1 + _DELIVERIES,)
CURRENT = len(MIGRATIONS)


def migrate(connection: apsw.Connection, migrations: tuple[str, ...] = MIGRATIONS) -> tuple[int, int]:
    """Bring a file up to date, all or nothing; the versions before and after."""
    before = connection.pragma("user_version")
    if before > len(migrations):
        message = (
            f"this ledger has schema version {before}, this Lucius knows up to {len(migrations)}: "
            "start the newer Lucius that wrote it"
        )
        raise Unavailable(message, code="LEDGER_TOO_NEW")
    for number, script in enumerate(migrations[before:], start=before + 1):
        connection.execute(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT")
    return before, len(migrations)
