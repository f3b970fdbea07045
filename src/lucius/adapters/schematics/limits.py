"""The `limits` section, general or of one tenant."""

from __future__ import annotations

import msgspec

from lucius.adapters.schematics.section import Section
from lucius.core.admission import Limits

MOST = 10_000_000
LONGEST_WAIT = 3_600
TENANT_LIMITS = ("tenant_jobs", "tenant_burst_jobs")
GENERAL_LIMITS = ("system_jobs", *TENANT_LIMITS)


def build_limits(holder: Section, base: Limits, names: tuple[str, ...]) -> Limits:
    """`base` with what the `limits` section of `holder` says; `names` are the counts it may set."""
    section = holder.section("limits")
    if section is None:
        return base
    section.only(*names, "retry_after")
    said = {name: _count(section, name) for name in names if name in section}
    wait = section.whole("retry_after", base.retry_after, 1, LONGEST_WAIT)
    return msgspec.structs.replace(base, retry_after=wait, **said)


def _count(section: Section, name: str) -> int | None:
    """A number of jobs; `null` takes the limit away."""
    if section.values[name] is None:
        return None
    return section.whole(name, 0, 0, MOST)
