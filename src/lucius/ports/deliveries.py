"""The delivery log: webhooks that are due, what became of them, and what a client may see of it.

Rows are born in the ledger's commit (`NewDelivery`), and only the sender settles them. A row waits
behind its unsettled predecessor (same job, same URL, lower `seq`) and is not due until that one is
settled. `due` costs by what is due and by how many endpoints wait, never by what is stored.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec


class DeliveryState(StrEnum):
    """Where a delivery stands."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    EXHAUSTED = "EXHAUSTED"


class NewDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """One event for one URL, to be inserted in the commit that holds the event."""

    delivery_id: str
    job_id: str
    tenant_id: str
    seq: int
    url_no: int
    """The URL's place in the order's `callback_urls`."""
    url: str
    shown_url: str
    """The URL without what could be a secret; the only form that is ever shown."""
    host: str
    """Host and port: what fairness counts by."""
    event_type: str
    body: bytes
    created_at: int


class PendingDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that may be sent now. `tries` counts the ones before."""

    delivery_id: str
    job_id: str
    tenant_id: str
    seq: int
    url: str
    host: str
    body: bytes
    tries: int
    created_at: int


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the log: no body, no address, no secret."""

    at: int
    took_ms: int
    status: int | None = None
    code: str | None = None
    """None when it was taken; else the kind of failure."""
    error: str | None = None


class DeliveryView(msgspec.Struct, frozen=True, kw_only=True):
    """What a client may see of a delivery."""

    delivery_id: str
    job_id: str
    seq: int
    event_type: str
    url: str
    state: DeliveryState
    tries: int
    created_at: int
    next_at: int | None
    """When it is sent next; None when settled or waiting for its predecessor."""
    attempts: tuple[DeliveryAttempt, ...]


class Deliveries(Protocol):
    """The log the sender works from."""

    async def due(self, now: int, limit: int, *, per_host: int) -> list[PendingDelivery]:
        """What may be sent now: at most `per_host` for each tenant and host, all endpoints served alike."""
        ...

    async def record(
        self, delivery_id: str, attempt: DeliveryAttempt, next_at: int | None, state: DeliveryState
    ) -> None:
        """Log a try. PENDING: due again at `next_at`. Otherwise settled, and its successor is due."""
        ...

    async def for_job(self, job_id: str) -> list[DeliveryView]:
        """All deliveries of a job, in order of event and URL."""
        ...

    async def redeliver(self, delivery_id: str, now: int) -> bool:
        """Send it again from the start of the schedule, out of order; False if there is no such row."""
        ...
