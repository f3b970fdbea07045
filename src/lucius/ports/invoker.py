"""The invoker: the only writer of a job once it exists, and the only one who tells its workflow.

Two sides ask it. The temporal worker asks it to go on with a job; the orchestrator hands it what
services reported over HTTP and what people ask of jobs. It is one object in one process, or any number
of processes behind an address.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

import msgspec

from lucius.core.admission import Limits
from lucius.core.commands import Command, Reply
from lucius.core.job import Standing
from lucius.ports.engine import Answer


class Advance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Go on with this job: judge what is due, start what may start, publish what was started."""

    job_id: str
    tenant_id: str
    known: int
    """The version of the job that the asker knows; on top of another one nothing is started."""
    lease_id: str
    """The lease of the attempt to start. The asker draws it once, however often it has to ask."""
    spread: float = 0.5
    """In [0, 1): moves waiting times by their jitter."""


class Advanced(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The job as the ledger has it (None: there is none), and the ledger's time."""

    standing: Standing | None
    now: int


class Attempted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Record this attempt: it counts if it is the next one, or already recorded."""

    job_id: str
    tenant_id: str
    step_id: str
    attempt_no: int
    lease_id: str


class Invoker(Protocol):
    """Owns jobs after their creation."""

    async def advance(self, ask: Advance) -> Advanced:
        """Record and publish in one call; raises `Unavailable` while the bus is away. Safe to repeat."""
        ...

    async def attempt(self, minted: Attempted) -> Advanced:
        """Record an attempt, publish nothing; raises `Refused` when the ledger has moved on."""
        ...

    async def publish(self, lane: int, directive: bytes) -> None:
        """Publish the directive of a recorded attempt; raises `Invalid` when it is not that directive."""
        ...

    def report(self, tenant_id: str, job_id: str, reply: Reply) -> Awaitable[Answer]:
        """Judge what a service says, and tell the workflow. Raises `Unavailable` if it cannot be told."""
        ...

    def control(self, job_id: str, command: Command, limits: Limits) -> Awaitable[Answer]:
        """Cancel, pause, resume, give up; the workflow is told, now or by the drift check."""
        ...

    async def republish(self, job_ids: list[str]) -> int:
        """Send the open directives of these jobs again; how many were offered."""
        ...
