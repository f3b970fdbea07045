"""Limits on open jobs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.core.admission import Counts, Limits, admit
from lucius.core.routing import BURST, DEFAULT
from lucius.errors import Saturated

LIMIT = st.none() | st.integers(0, 5)
COUNT = st.integers(0, 6)
LIMITS = st.builds(
    Limits, tenant_jobs=LIMIT, system_jobs=LIMIT, tenant_burst_jobs=LIMIT, retry_after=st.integers(1, 60)
)
COUNTS = st.builds(Counts, tenant=COUNT, system=COUNT, tenant_burst=COUNT)


def _over(limit: int | None, count: int) -> bool:
    return limit is not None and count + 1 > limit


@given(LIMITS, COUNTS, st.sampled_from([DEFAULT, BURST]))
def test_one_more_job_never_passes_a_limit(limits: Limits, counts: Counts, mode: str) -> None:
    """A job is admitted exactly when with it every limit that concerns it still holds."""
    refusal = admit(limits, counts, mode)
    over = {
        "TENANT_SATURATED": _over(limits.tenant_jobs, counts.tenant),
        "BURST_SATURATED": mode == BURST and _over(limits.tenant_burst_jobs, counts.tenant_burst),
        "SYSTEM_SATURATED": _over(limits.system_jobs, counts.system),
    }
    assert (refusal is None) is not any(over.values())
    if refusal is not None:
        assert over[refusal.code]
        assert refusal.retry_after == limits.retry_after
        assert refusal.retryable


@pytest.mark.parametrize(
    ("limits", "code", "status"),
    [
        (Limits(tenant_jobs=3), "TENANT_SATURATED", 429),
        (Limits(tenant_burst_jobs=2), "BURST_SATURATED", 429),
        (Limits(system_jobs=9), "SYSTEM_SATURATED", 503),
        (Limits(system_jobs=9, tenant_jobs=3, tenant_burst_jobs=2), "TENANT_SATURATED", 429),
        (Limits(system_jobs=9, tenant_burst_jobs=2), "BURST_SATURATED", 429),
    ],
)
def test_each_limit_has_its_answer(limits: Limits, code: str, status: int) -> None:
    """The sender's own limits are told before the system's, each with its status."""
    refusal = admit(limits, Counts(tenant=3, system=9, tenant_burst=2), BURST)
    assert isinstance(refusal, Saturated)
    assert (refusal.code, refusal.status) == (code, status)


def test_the_burst_limit_leaves_default_alone() -> None:
    """A tenant that has used up its BURST jobs may still send others."""
    assert admit(Limits(tenant_burst_jobs=0), Counts(tenant=0, system=0), DEFAULT) is None


def test_a_full_system_tells_no_tenant_how_full() -> None:
    """The count over all tenants stays inside."""
    refusal = admit(Limits(system_jobs=4242), Counts(tenant=0, system=4242), DEFAULT)
    assert refusal is not None
    assert "4242" not in refusal.message
