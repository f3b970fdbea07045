"""Slots in use, for a ledger that others write too: counted from the rows when a judge asks.

Inside a transaction the rows stand still until the batch is staged, so a count is what the rows say plus
what this batch has moved. What was counted is kept until another process has committed; nothing is
counted for a judge that does not look. A tenant's count reads an index over its open jobs; the system's
hops from tenant to tenant over the same index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lucius.core.states import COUNTED_JOB
from lucius.errors import Broken
from lucius.ports.ledger import Usage

if TYPE_CHECKING:
    from lucius.core.job import Job

_HELD = ",".join(f"'{state.value}'" for state in sorted(COUNTED_JOB))
_TENANT = (
    "SELECT count(*), coalesce(sum(mode = 'BURST'), 0) FROM jobs INDEXED BY jobs_by_state "
    f"WHERE tenant_id = ? AND state IN ({_HELD})"
)
_SYSTEM = (
    "WITH RECURSIVE tenants (name) AS (SELECT min(tenant_id) FROM jobs UNION ALL "
    "SELECT (SELECT min(j.tenant_id) FROM jobs j WHERE j.tenant_id > tenants.name) "
    "FROM tenants WHERE tenants.name IS NOT NULL) "
    "SELECT count(*) FROM tenants CROSS JOIN jobs j INDEXED BY jobs_by_state "
    f"WHERE j.tenant_id = tenants.name AND j.state IN ({_HELD})"
)

Query = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


def counted(query: Query, tenant_id: str) -> Usage:
    """What a tenant, and everybody together, holds by the rows."""
    jobs, burst = query(_TENANT, (tenant_id,))[0]
    return Usage(tenant_jobs=jobs, tenant_burst_jobs=burst, system_jobs=query(_SYSTEM, ())[0][0])


class Slots:
    """What rows and the open batch say together."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._tenants: dict[str, tuple[int, int]] = {}
        self._system: int | None = None
        self._moved: Counter[str] = Counter()
        self._moved_burst: Counter[str] = Counter()

    def usage(self, tenant_id: str) -> Usage:
        """What a tenant, and everybody together, holds now."""
        held = self._tenants.get(tenant_id)
        if held is None:
            jobs, burst = self._query(_TENANT, (tenant_id,))[0]
            held = self._tenants[tenant_id] = (jobs, burst)
        if self._system is None:
            self._system = self._query(_SYSTEM, ())[0][0]
        return Usage(
            tenant_jobs=held[0] + self._moved[tenant_id],
            tenant_burst_jobs=held[1] + self._moved_burst[tenant_id],
            system_jobs=self._system + self._moved.total(),
        )

    def move(self, old: Job | None, new: Job) -> None:
        """Follow one decision of the open batch."""
        step = (new.state in COUNTED_JOB) - (old is not None and old.state in COUNTED_JOB)
        if step:
            self._moved[new.order.tenant_id] += step
            if new.order.routing.mode == "BURST":
                self._moved_burst[new.order.tenant_id] += step

    def settle(self) -> None:
        """The batch is durable: what it moved is in the rows now."""
        for tenant, (jobs, burst) in self._tenants.items():
            self._tenants[tenant] = (jobs + self._moved[tenant], burst + self._moved_burst[tenant])
        if self._system is not None:
            self._system += self._moved.total()
        self._moved.clear()
        self._moved_burst.clear()

    def forget(self) -> None:
        """The rows are not what was counted any more, or the batch did not become durable."""
        self._tenants.clear()
        self._system = None
        self._moved.clear()
        self._moved_burst.clear()


class LateUsage:
    """A `Usage` to any judge, counted when it is first looked at and only while the judge decides."""

    __slots__ = ("_count", "_found")

    def __init__(self, count: Callable[[], Usage]) -> None:
        self._count: Callable[[], Usage] | None = count
        self._found: Usage | None = None

    def _usage(self) -> Usage:
        if self._found is None:
            if self._count is None:
                raise Broken("counts were asked for after the decision they belong to")
            self._found = self._count()
        return self._found

    def end(self) -> None:
        """The decision is made; what was not looked at is not counted any more."""
        self._count = None

    @property
    def tenant_jobs(self) -> int:
        """As in `Usage`."""
        return self._usage().tenant_jobs

    @property
    def tenant_burst_jobs(self) -> int:
        """As in `Usage`."""
        return self._usage().tenant_burst_jobs

    @property
    def system_jobs(self) -> int:
        """As in `Usage`."""
        return self._usage().system_jobs

    def __eq__(self, other: object) -> bool:
        """By the counts."""
        return self._usage() == other

    def __hash__(self) -> int:
        """By the counts."""
        return hash(self._usage())
