"""Who may write what: the orchestrator creates jobs and changes none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.errors import Broken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from lucius.core.events import Event
    from lucius.core.job import Job
    from lucius.ports.ledger import (
        Census,
        Change,
        Claim,
        DeadLetter,
        JobQuery,
        Judge,
        Ledger,
        LedgerCapabilities,
        Listener,
        Opened,
        Opener,
        OutboxRow,
    )


class CreateOnly:
    """A ledger in the orchestrator's hands: it may create and read. Everything else is the invoker's."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @property
    def capabilities(self) -> LedgerCapabilities:
        """As the ledger behind."""
        return self._ledger.capabilities

    def create(self, claim: Claim, opener: Opener) -> Awaitable[Opened]:
        """Rows of a new job; one that does not begin at its beginning is no new job."""

        def opens(usage: object) -> Change:
            change = opener(usage)  # type: ignore[arg-type]
            if change.outbox or change.decision.job.attempts_total:
                raise Broken("The orchestrator creates jobs; attempts are the workflow's to draw.")
            return change

        return self._ledger.create(claim, opens)

    def change(self, job_id: str, judge: Judge, *, patient: bool = False) -> Awaitable[Change | None]:  # noqa: ARG002
        """Refused: after its creation only the invoker writes a job."""
        message = f"The orchestrator may not change job {job_id}: that is the invoker's."
        raise Broken(message, code="NOT_THE_OWNER")

    def on_commit(self, listener: Listener) -> None:
        """As the ledger behind."""
        self._ledger.on_commit(listener)

    async def job(self, job_id: str) -> Job | None:
        """As the ledger behind."""
        return await self._ledger.job(job_id)

    async def jobs(self, query: JobQuery) -> list[Job]:
        """As the ledger behind."""
        return await self._ledger.jobs(query)

    async def events(self, job_id: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """As the ledger behind."""
        return await self._ledger.events(job_id, after=after, limit=limit)

    async def outbox(self, job_ids: Sequence[str]) -> list[OutboxRow]:
        """As the ledger behind."""
        return await self._ledger.outbox(job_ids)

    async def open_attempts(self, *, after: str = "", limit: int = 500) -> list[str]:
        """As the ledger behind."""
        return await self._ledger.open_attempts(after=after, limit=limit)

    async def due(self, now: int, limit: int) -> list[str]:
        """As the ledger behind."""
        return await self._ledger.due(now, limit)

    async def dead_letters(self, query: JobQuery) -> list[DeadLetter]:
        """As the ledger behind."""
        return await self._ledger.dead_letters(query)

    async def census(self, now: int, tenants: frozenset[str] | None = None) -> Census:
        """As the ledger behind."""
        return await self._ledger.census(now, tenants)

    async def purge(self, before: int, limit: int) -> int:  # noqa: ARG002
        """Refused: forgetting is the invoker's too."""
        raise Broken("The orchestrator may not purge jobs: that is the invoker's.", code="NOT_THE_OWNER")
