"""Slots in use. Counted from the rows at start and moved with every decision, so nothing can leak."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from lucius.core.states import COUNTED_JOB, JobState, StepState
from lucius.ports.ledger import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lucius.core.job import Job

_DISPATCHING = StepState.DISPATCHING
_IN_PROGRESS = StepState.IN_PROGRESS


class Tally:
    """Counts of jobs that are not over."""

    __slots__ = ("at_work", "burst", "by_state", "system", "tenant", "unsent")

    def __init__(
        self, stored: Iterable[tuple[Any, ...]], unsent: int, at_work: Iterable[tuple[str, int]]
    ) -> None:
        self.tenant: Counter[str] = Counter()
        self.burst: Counter[str] = Counter()
        self.by_state: Counter[tuple[str, str]] = Counter()
        self.system = 0
        self.unsent = unsent
        self.at_work: Counter[str] = Counter(dict(at_work))
        for tenant, mode, state, count in stored:
            self._hold(tenant, mode, JobState(state), count)

    def usage(self, tenant_id: str) -> Usage:
        """What a tenant, and everybody together, holds now."""
        return Usage(
            tenant_jobs=self.tenant[tenant_id],
            tenant_burst_jobs=self.burst[tenant_id],
            system_jobs=self.system,
        )

    def move(self, old: Job | None, new: Job) -> None:
        """Follow one decision."""
        if old is None or old.state is not new.state:
            if old is not None:
                self._hold(old.order.tenant_id, old.order.routing.mode, old.state, -1)
            if not new.terminal:
                self._hold(new.order.tenant_id, new.order.routing.mode, new.state, 1)
        if old is None:
            self.unsent += sum(step.state is _DISPATCHING for step in new.steps)
        elif old.steps is not new.steps:
            self._move_steps(old, new)

    def _move_steps(self, old: Job, new: Job) -> None:
        # A loop with two comparisons a step: this runs for every decision.
        for before, after in zip(old.steps, new.steps, strict=True):
            if before.state is not after.state:
                self.unsent += (after.state is _DISPATCHING) - (before.state is _DISPATCHING)
                if after.state is _IN_PROGRESS or before.state is _IN_PROGRESS:
                    kind = new.order.protocol.steps[after.index].step_type
                    self._count(self.at_work, kind, 1 if after.state is _IN_PROGRESS else -1)

    def _hold(self, tenant: str, mode: str, state: JobState, count: int) -> None:
        self._count(self.by_state, (tenant, state), count)
        if state in COUNTED_JOB:
            self.system += count
            self._count(self.tenant, tenant, count)
            if mode == "BURST":
                self._count(self.burst, tenant, count)

    @staticmethod
    def _count(counter: Counter[Any], key: Any, sign: int) -> None:
        count = counter[key] + sign
        if count:
            counter[key] = count
        else:
            del counter[key]  # tenants that are gone cost nothing
