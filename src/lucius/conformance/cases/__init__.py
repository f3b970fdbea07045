"""The rules, in the order in which they are tried: from ordinary work to the end of the process."""

from __future__ import annotations

from lucius.conformance.cases import crashes, duplicates, ending, leases, manners, ordinary, outages, refusals
from lucius.conformance.findings import Case

CASES: tuple[Case, ...] = (
    *ordinary.rules.cases,
    *duplicates.rules.cases,
    *outages.rules.cases,
    *leases.rules.cases,
    *refusals.rules.cases,
    *manners.rules.cases,
    *crashes.rules.cases,
    *ending.rules.cases,
)
