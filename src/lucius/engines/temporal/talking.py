"""What the engine needs of Temporal, as two rights: to start a workflow, and to tell one.

The orchestrator holds the first, the invoker the second. `starting.py` and `signalling.py` are the real
ones, `observed.py` goes round either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lucius.core.job import Job
    from lucius.engines.temporal.messages import Signal


class Starts(Protocol):
    """Starts the workflow of a job, once, however often it is asked."""

    async def start(self, job: Job) -> bool:
        """True if the workflow runs from now on, False if it ran already; raises `Unavailable`."""
        ...


class Signals(Protocol):
    """Tells workflows by job id. One that is closed or never was is an answer; Temporal away raises."""

    async def tell(self, job_id: str, signal: Signal) -> bool:
        """Deliver a signal; False when there is no open workflow to take it."""
        ...

    async def nudge(self, job_id: str) -> bool:
        """Let a workflow look at its job; False when there is no open one."""
        ...

    async def cancel(self, job_id: str) -> bool:
        """Let Temporal itself know that a job is cancelled."""
        ...

    async def ending(self, job_id: str) -> str | None:
        """How the workflow of a job closed, in words; None: it is open."""
        ...
