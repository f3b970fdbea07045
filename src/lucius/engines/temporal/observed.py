"""Telemetry round starts and signals: counted, timed, and a line for what was put right.

Nothing is added to or kept from a call: the answer, and every error, is the inner one's. A line is written
for repairs only; ordinary starts and signals are in the numbers and in the traces.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import structlog

from lucius.engines.temporal.messages import NUDGE
from lucius.engines.temporal.signalling import NAMES, NEVER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.core.job import Job
    from lucius.engines.temporal.messages import Signal
    from lucius.engines.temporal.talking import Signals, Starts

UNAVAILABLE = "unavailable"
CANCEL = "cancel"


class ObservedStarts:
    """Any starts, with `observe(outcome, seconds)` told after each."""

    def __init__(
        self, inner: Starts, observe: Callable[[str, float], None], *, repairing: bool = False
    ) -> None:
        """`repairing`: whatever is started had been lost, and is worth a line."""
        self._inner = inner
        self._observe = observe
        self._repairing = repairing
        self._log = structlog.get_logger("lucius.temporal")

    def for_repairs(self) -> ObservedStarts:
        """The same, in the hands of who looks for lost starts."""
        return ObservedStarts(self._inner, self._observe, repairing=True)

    async def start(self, job: Job) -> bool:
        """As the inner one."""
        began, outcome = perf_counter(), UNAVAILABLE
        try:
            started = await self._inner.start(job)
            outcome = "started" if started else "existing"
        finally:  # also when whoever waits for it has given up
            self._observe(outcome, perf_counter() - began)
        if started and self._repairing:
            self._log.info("lost workflow started", **_ids(job))
        return started


class ObservedSignals:
    """Any signals, with `observe(signal, outcome, seconds)` told after each."""

    def __init__(
        self,
        inner: Signals,
        observe: Callable[[str, str, float], None],
        find: Callable[[str], Awaitable[Job | None]],
    ) -> None:
        """`find` reads a job, for the ids in a line; asked for repairs only."""
        self._inner = inner
        self._observe = observe
        self._find = find
        self._log = structlog.get_logger("lucius.temporal")

    async def tell(self, job_id: str, signal: Signal) -> bool:
        """As the inner one."""
        return await self._counted(NAMES[type(signal)], self._inner.tell(job_id, signal))

    async def nudge(self, job_id: str) -> bool:
        """As the inner one; a nudge that was heard is worth a line."""
        heard = await self._counted(NUDGE, self._inner.nudge(job_id))
        if heard:
            self._log.info("workflow nudged", **await self._named(job_id))
        return heard

    async def cancel(self, job_id: str) -> bool:
        """As the inner one."""
        return await self._counted(CANCEL, self._inner.cancel(job_id))

    async def ending(self, job_id: str) -> str | None:
        """As the inner one; who asks ends the job of a workflow that has closed, which is worth a line."""
        ending = await self._inner.ending(job_id)
        if ending is not None and ending != NEVER:
            named = await self._named(job_id)
            self._log.warning("workflow closed before its job; the job is ended", ending=ending, **named)
        return ending

    async def _counted(self, signal: str, telling: Awaitable[bool]) -> bool:
        began, outcome = perf_counter(), UNAVAILABLE
        try:
            heard = await telling
            outcome = "delivered" if heard else "no_workflow"
        finally:
            self._observe(signal, outcome, perf_counter() - began)
        return heard

    async def _named(self, job_id: str) -> dict[str, str]:
        job = await self._find(job_id)
        return {"jobId": job_id} if job is None else _ids(job)


def _ids(job: Job) -> dict[str, str]:
    ids = {"jobId": job.job_id, "tenant_id": job.order.tenant_id}
    if job.order.correlation_id:
        ids["correlation_id"] = job.order.correlation_id
    return ids
