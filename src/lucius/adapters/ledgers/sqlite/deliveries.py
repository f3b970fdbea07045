"""The delivery log in SQLite. One statement a change, so the ledger's writer can run each as it comes.

`next_at` is set exactly when a row may be sent: NULL means settled, or waiting for its predecessor
(then the state says PENDING). The partial index therefore holds only what can become due, sorted by
lane (tenant and host), and `due` hops from lane to lane instead of reading a long queue to its end.
Two triggers keep the order of a job's deliveries to one URL: a new row behind an unsettled one
waits, and the statement that settles a row hands the turn on; so no crash can lose the turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from lucius.ports.deliveries import (
    DeliveryAttempt,
    DeliveryState,
    DeliveryView,
    NewDelivery,
    PendingDelivery,
)

Row = tuple[Any, ...]
Read = Callable[[str, Row], list[Row]]
Write = Callable[[str, Row], Awaitable[None]]

MAX_LOG = 32

DDL = """
CREATE TABLE deliveries (
    delivery_id TEXT PRIMARY KEY, job_id TEXT NOT NULL, tenant_id TEXT NOT NULL, seq INTEGER NOT NULL,
    url_no INTEGER NOT NULL, url TEXT NOT NULL, shown_url TEXT NOT NULL, host TEXT NOT NULL,
    event_type TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
    next_at INTEGER CHECK (next_at IS NULL OR state = 'PENDING'),
    state TEXT NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'DELIVERED', 'EXHAUSTED')),
    tries INTEGER NOT NULL DEFAULT 0, log TEXT NOT NULL DEFAULT '[]',
    lane TEXT GENERATED ALWAYS AS (tenant_id || ' ' || host) VIRTUAL
);
CREATE UNIQUE INDEX deliveries_in_order ON deliveries (job_id, url_no, seq);
CREATE INDEX deliveries_due ON deliveries (lane, next_at) WHERE next_at IS NOT NULL;
CREATE TRIGGER deliveries_wait AFTER INSERT ON deliveries
WHEN EXISTS (SELECT 1 FROM deliveries AS earlier
             WHERE earlier.job_id = new.job_id AND earlier.url_no = new.url_no AND earlier.seq < new.seq
               AND earlier.state = 'PENDING')
BEGIN
    UPDATE deliveries SET next_at = NULL WHERE delivery_id = new.delivery_id;
END;
CREATE TRIGGER deliveries_turn AFTER UPDATE OF state ON deliveries
WHEN old.state = 'PENDING' AND new.state <> 'PENDING'
BEGIN
    UPDATE deliveries SET next_at = created_at
    WHERE next_at IS NULL AND delivery_id = (
        SELECT later.delivery_id FROM deliveries AS later
        WHERE later.job_id = new.job_id AND later.url_no = new.url_no AND later.seq > new.seq
          AND later.state = 'PENDING'
        ORDER BY later.seq LIMIT 1);
END;
"""

INSERT_COLUMNS = (
    "delivery_id",
    "job_id",
    "tenant_id",
    "seq",
    "url_no",
    "url",
    "shown_url",
    "host",
    "event_type",
    "body",
    "created_at",
    "next_at",
)

_DUE = """
WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM deliveries WHERE next_at IS NOT NULL
    UNION ALL
    SELECT (SELECT min(d.lane) FROM deliveries AS d WHERE d.next_at IS NOT NULL AND d.lane > lanes.lane)
    FROM lanes WHERE lanes.lane IS NOT NULL
), heads AS (
    SELECT d.* FROM lanes JOIN deliveries AS d ON d.delivery_id IN (
        SELECT h.delivery_id FROM deliveries AS h
        WHERE h.next_at IS NOT NULL AND h.lane = lanes.lane AND h.next_at <= ?1
        ORDER BY h.next_at LIMIT ?3)
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY host ORDER BY next_at, delivery_id) AS host_rank,
           row_number() OVER (PARTITION BY tenant_id ORDER BY next_at, delivery_id) AS tenant_rank
    FROM heads
)
SELECT delivery_id, job_id, tenant_id, seq, url, host, body, tries, created_at FROM ranked
ORDER BY max(host_rank, tenant_rank), next_at, delivery_id LIMIT ?2
"""

_RECORD = f"""
UPDATE deliveries SET tries = tries + 1, state = ?2, next_at = ?3,
    log = json_insert(iif(json_array_length(log) < {MAX_LOG}, log, json_remove(log, '$[0]')),
                      '$[#]', json(?4))
WHERE delivery_id = ?1 AND state = 'PENDING'
"""

_FOR_JOB = """
SELECT delivery_id, job_id, seq, event_type, shown_url, state, tries, created_at, next_at, log
FROM deliveries WHERE job_id = ? ORDER BY seq, url_no
"""

_REDELIVER = """
UPDATE deliveries SET state = 'PENDING', tries = 0, next_at = ?2
WHERE delivery_id = ?1 AND NOT (state = 'PENDING' AND next_at IS NULL)
"""

_LOG = msgspec.json.Decoder(tuple[DeliveryAttempt, ...])


def insert_row(new: NewDelivery) -> Row:
    """The values of INSERT_COLUMNS; to be inserted in the event's own commit, by rising `seq`."""
    return (
        new.delivery_id,
        new.job_id,
        new.tenant_id,
        new.seq,
        new.url_no,
        new.url,
        new.shown_url,
        new.host,
        new.event_type,
        new.body.decode(),
        new.created_at,
        new.created_at,
    )


class SqliteDeliveries:
    """`Deliveries` over whatever reads from and writes to the ledger's database."""

    def __init__(self, read: Read, write: Write) -> None:
        self._read = read
        self._write = write

    async def due(self, now: int, limit: int, *, per_host: int) -> list[PendingDelivery]:
        """What may be sent now, every endpoint's and every tenant's first ones first."""
        return [_pending(row) for row in self._read(_DUE, (now, limit, per_host))]

    async def record(
        self, delivery_id: str, attempt: DeliveryAttempt, next_at: int | None, state: DeliveryState
    ) -> None:
        """Log a try and settle or put off; a row that is settled already stays as it is."""
        line = msgspec.json.encode(attempt).decode()
        await self._write(_RECORD, (delivery_id, state.value, next_at, line))

    async def for_job(self, job_id: str) -> list[DeliveryView]:
        """All deliveries of a job, in order of event and URL."""
        return [_view(row) for row in self._read(_FOR_JOB, (job_id,))]

    async def redeliver(self, delivery_id: str, now: int) -> bool:
        """Put it back to the start of its schedule; one that waits for its turn keeps waiting."""
        if not self._read("SELECT 1 FROM deliveries WHERE delivery_id = ?", (delivery_id,)):
            return False
        await self._write(_REDELIVER, (delivery_id, now))
        return True


def _pending(row: Row) -> PendingDelivery:
    values = dict(zip(PendingDelivery.__struct_fields__, row, strict=True))
    return PendingDelivery(**values | {"body": values["body"].encode()})


def _view(row: Row) -> DeliveryView:
    values = dict(zip(DeliveryView.__struct_fields__, row, strict=True))
    return DeliveryView(
        **values | {"state": DeliveryState(values["state"]), "attempts": _LOG.decode(values["attempts"])}
    )
