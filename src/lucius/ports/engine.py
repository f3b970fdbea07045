"""The engine: what drives jobs. Use cases ask it; they never decide themselves."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal, Protocol

import msgspec

from lucius.core.admission import Limits
from lucius.core.commands import Command, Reply
from lucius.core.decide import Verdict
from lucius.core.job import Fault, Job, Order
from lucius.errors import LuciusError
from lucius.ports.ledger import Claim, Opened


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a command was judged, and the job after it (None: there is no such job)."""

    verdict: Verdict
    job: Job | None
    refusal: Fault | None = None


Driver = Literal["sweep", "workflow"]


class Engine(Protocol):
    """Drives jobs from order to outcome."""

    @property
    def driver(self) -> Driver:
        """What starts the next attempt of a job that is ready: a sweep of this process, or its workflow."""
        ...

    def open(self, order: Order, claim: Claim, limits: Limits) -> Awaitable[Opened]:
        """Accept an order, or find the job that has its key; raises `Saturated` when a limit is reached."""
        ...

    def replay(self, claim: Claim, refusal: LuciusError) -> Awaitable[Opened]:
        """Find the job that has the key; raises `refusal` when there is none. Creates nothing."""
        ...

    def report(self, tenant_id: str, job_id: str, reply: Reply) -> Awaitable[Answer]:
        """Judge what a service says. Never raises for a stale or unknown reply."""
        ...

    def control(self, job_id: str, command: Command, limits: Limits) -> Awaitable[Answer]:
        """Cancel, pause or resume."""
        ...

    async def republish(self, job_ids: list[str]) -> int:
        """Send the open directives of these jobs again now; how many were offered."""
        ...

    def waiting(self) -> dict[str, int] | None:
        """Directives that wait for the bus, by tenant, in the order of their turn; None: unknown here."""
        ...
