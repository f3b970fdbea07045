"""Tables of the SQLite ledger, and how an older file becomes a current one.

What is fixed when a job is accepted lives in `orders` (its protocol once for all jobs in `protocols`);
what moves lives in one small row of `jobs`, steps included. The named fields of jobs, steps, events and
outbox are generated columns and views over those bodies: SQL sees all of them, writing pays for none.

`PRAGMA user_version` says how many of the MIGRATIONS a file has had. A file made by a newer Lucius is
refused, never touched.
"""

from __future__ import annotations

import apsw

from lucius.adapters.ledgers.sqlite import deliveries
from lucius.errors import Unavailable


def _from_body(*names: str) -> str:
    """Columns that are read from the body when somebody asks."""
    columns = []
    for name in names:
        column, _, path = name.partition("=")
        columns.append(f"{column} GENERATED ALWAYS AS (body->>'$.{path or column}') VIRTUAL")
    return ",\n    ".join(columns)


_V1 = f"""
CREATE TABLE protocols (digest TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE orders (
    job_id TEXT PRIMARY KEY, protocol TEXT NOT NULL, claim_key TEXT NOT NULL, body TEXT NOT NULL,
    {
    _from_body(
        "schema_version",
        "workspace_ref",
        "input_ref",
        "output_ref",
        "payload",
        "idempotency_hash",
        "idempotency_key",
        "traceparent",
        "callback_urls",
        "priority",
        "not_before",
    )
}
);
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, request_type TEXT NOT NULL, mode TEXT NOT NULL,
    doc_id TEXT, correlation_id TEXT, ancestor_id TEXT, created_at INTEGER NOT NULL,
    state TEXT NOT NULL, due_at INTEGER, completed_at INTEGER, body TEXT NOT NULL,
    {
    _from_body(
        "version",
        "updated_at",
        "error_code=error.code",
        "error_message=error.message",
        "final_output",
        "deadline_at",
        "paused_at",
        "cancel_requested_at",
    )
}
);
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, job_id);
CREATE INDEX jobs_by_state ON jobs (tenant_id, state, job_id);
CREATE INDEX jobs_by_type ON jobs (tenant_id, request_type, job_id);
CREATE INDEX jobs_due ON jobs (due_at, job_id) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_open ON jobs (job_id) WHERE completed_at IS NULL;
CREATE INDEX jobs_done ON jobs (completed_at, job_id) WHERE completed_at IS NOT NULL;
CREATE INDEX jobs_by_correlation ON jobs (correlation_id, job_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX jobs_by_doc ON jobs (doc_id, tenant_id, job_id) WHERE doc_id IS NOT NULL;
CREATE VIEW steps AS
    SELECT j.job_id, CAST(s.key AS INTEGER) AS step_index, s.value->>'$.step_id' AS step_id,
        s.value->>'$.state' AS state, s.value->>'$.attempt.attempt_no' AS attempt_no,
        s.value->>'$.attempt.lease_id' AS lease_id,
        s.value->>'$.attempt.lease_expires_at' AS lease_expires_at,
        s.value->>'$.attempt.publish_tries' AS publish_tries,
        s.value->>'$.attempt.published_at' AS published_at, s.value->>'$.attempt.acked_at' AS acked_at,
        coalesce(s.value->>'$.dispatch_failures', 0) AS dispatch_failures,
        coalesce(s.value->>'$.execution_failures', 0) AS execution_failures,
        s.value->>'$.retry_at' AS retry_at, s.value->>'$.result' AS result,
        s.value->>'$.last_error.code' AS last_error_code,
        s.value->>'$.last_error.message' AS last_error_message, s.value->>'$.progress' AS progress,
        s.value->>'$.created_at' AS created_at, s.value->>'$.updated_at' AS updated_at,
        s.value->>'$.completed_at' AS completed_at
    FROM jobs j, json_each(j.body, '$.steps') AS s;
CREATE TABLE events (
    job_id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL,
    {_from_body("type", "at", "step_id", "attempt_no")},
    PRIMARY KEY (job_id, seq)
) WITHOUT ROWID;
CREATE TABLE outbox (
    job_id TEXT NOT NULL, step_index INTEGER NOT NULL, attempt_no INTEGER NOT NULL,
    topic TEXT NOT NULL, priority INTEGER NOT NULL, created_at INTEGER NOT NULL, body TEXT NOT NULL,
    {_from_body("tenant_id", "step_id=stepId", "lease_id", "subject=step_type", "lane", "mode")},
    PRIMARY KEY (job_id, step_index, attempt_no)
);
CREATE VIEW outbox_states AS
    SELECT o.job_id, o.step_index, o.attempt_no, o.topic, o.created_at, CASE
        WHEN s.attempt_no > o.attempt_no OR s.published_at IS NOT NULL THEN 'SENT'
        WHEN s.state = 'DISPATCHING' THEN 'PENDING' ELSE 'FAILED_FINAL' END AS state
    FROM outbox o JOIN steps s USING (job_id, step_index);
CREATE TABLE idempotency (
    tenant_id TEXT NOT NULL, key TEXT NOT NULL, job_id TEXT NOT NULL, expires_at INTEGER,
    release_on_failure INTEGER NOT NULL, created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, key)
) WITHOUT ROWID;
CREATE TABLE dead_letters (
    job_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, step_id TEXT, error_code TEXT NOT NULL,
    error_message TEXT NOT NULL, dead_at INTEGER NOT NULL, redriven_as TEXT
) WITHOUT ROWID;
CREATE INDEX dead_letters_by_tenant ON dead_letters (tenant_id, job_id);
CREATE INDEX dead_letters_open ON dead_letters (job_id) WHERE redriven_as IS NULL;
"""

MIGRATIONS: tuple[str, ...] = (_V1 + deliveries.DDL,)


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
        try:
            connection.execute(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT").fetchall()
        except apsw.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            message = f"schema version {number} could not be reached, the ledger stays as it was: {error}"
            raise Unavailable(message, code="LEDGER_NOT_MIGRATED") from error
    return before, len(migrations)
