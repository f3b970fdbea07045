"""Whether one more job fits: limits, and the counts they are held against.

No state. The counts are taken from rows in the transaction that would create the job, so nothing can
leak: a job counts while its state is in `COUNTED_JOB`; paused and terminal jobs do not. The caller
looks for a replay first: an accepted command sent again is never refused here.
"""

from __future__ import annotations

import msgspec

from lucius.core.routing import BURST
from lucius.errors import Saturated


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs may be open at once; None: as many as come."""

    tenant_jobs: int | None = None
    system_jobs: int | None = None
    tenant_burst_jobs: int | None = None
    retry_after: int = 5
    """Seconds after which a refused sender should try again."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that hold a slot now."""

    tenant: int
    system: int
    tenant_burst: int = 0


def admit(limits: Limits, counts: Counts, mode: str) -> Saturated | None:
    """None if one more job fits; else the refusal, the sender's own limits before the system's."""
    tenant_burst = counts.tenant_burst if mode == BURST else None
    if _is_reached(limits.tenant_jobs, counts.tenant):
        return Saturated(
            f"The tenant has {counts.tenant} open jobs; its limit is {limits.tenant_jobs}. Try again later.",
            code="TENANT_SATURATED",
            status=429,
            retry_after=limits.retry_after,
        )
    if _is_reached(limits.tenant_burst_jobs, tenant_burst):
        return Saturated(
            f"The tenant has {tenant_burst} open BURST jobs; its limit is {limits.tenant_burst_jobs}. "
            "Try again later, or send without BURST.",
            code="BURST_SATURATED",
            status=429,
            retry_after=limits.retry_after,
        )
    if _is_reached(limits.system_jobs, counts.system):
        # How full the system is, is no tenant's business: no figures.
        return Saturated(
            "Lucius has as many open jobs as it may hold. Try again later.",
            code="SYSTEM_SATURATED",
            status=503,
            retry_after=limits.retry_after,
        )
    return None


def _is_reached(limit: int | None, count: int | None) -> bool:
    return limit is not None and count is not None and count >= limit
