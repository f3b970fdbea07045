"""Retention: forgetting jobs that have been over for long enough."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lucius.adapters.ledgers.sqlite.batch import Statement
    from lucius.adapters.ledgers.sqlite.reader import Reader

_OVER = "SELECT job_id FROM jobs WHERE completed_at < ? ORDER BY completed_at LIMIT ?"
_CLAIMS = (
    "DELETE FROM idempotency WHERE (tenant_id, key, job_id) IN (SELECT j.tenant_id, o.claim_key, j.job_id "
    "FROM json_each(?) AS gone JOIN jobs j ON j.job_id = gone.value JOIN orders o ON o.job_id = j.job_id)"
)
_TABLES = ("orders", "events", "outbox", "dead_letters", "deliveries", "jobs")


def purge_statements(reader: Reader, before: int, limit: int) -> tuple[list[Statement], list[str]]:
    """Statements that forget up to `limit` jobs, and which ones these are."""
    ids = [job_id for (job_id,) in reader.query(_OVER, (before, limit))]
    wanted = json.dumps(ids)
    forget = "DELETE FROM {} WHERE job_id IN (SELECT value FROM json_each(?))"
    return [(_CLAIMS, [(wanted,)]), *((forget.format(table), [(wanted,)]) for table in _TABLES)], ids
