"""The ledger: where jobs live. It speaks of jobs, never of rows.

Every change is one commit: job, steps, events, outbox, idempotency key, dead letter, webhook
deliveries and due time together. The ledger reads the job, asks a pure `judge` what becomes of it and
commits the answer; where two writers race, the loser reads and asks again, so a judge may run twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from lucius.core.decide import Decision
from lucius.core.events import Event
from lucius.core.job import Fault, Job
from lucius.ports.deliveries import NewDelivery


class LedgerCapabilities(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a ledger can and cannot do."""

    durable: bool
    """An answered change survives the loss of process and power."""
    shared: bool
    """Several processes may write at the same time."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Jobs that hold a slot right now, counted from the rows themselves."""

    tenant_jobs: int
    tenant_burst_jobs: int
    system_jobs: int


class OutboxRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A directive, byte for byte, as it goes and goes again. Written once with its attempt."""

    message_id: str
    job_id: str
    tenant_id: str
    step_id: str
    step_index: int
    attempt_no: int
    lease_id: str
    subject: str
    topic: str
    lane: int
    mode: str
    priority: int
    body: bytes
    created_at: int


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A decision with everything that is committed beside it."""

    decision: Decision
    outbox: tuple[OutboxRow, ...] = ()
    deliveries: tuple[NewDelivery, ...] = ()


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The idempotency key of a submission, in its own key space."""

    tenant_id: str
    key: str
    expires_at: int | None
    release_on_failure: bool
    """A derived key is given back when its job fails or is cancelled."""


class Opened(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of a submission: its own job, or the one that already had the key."""

    job: Job
    duplicate: bool


class JobQuery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which jobs to list, newest first."""

    tenants: frozenset[str] | None = None
    states: tuple[str, ...] = ()
    request_type: str | None = None
    doc_id: str | None = None
    correlation_id: str | None = None
    created_from: int | None = None
    created_before: int | None = None
    before_id: str | None = None
    limit: int = 50


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job that failed for good, until somebody runs it again."""

    job_id: str
    tenant_id: str
    step_id: str | None
    error: Fault
    dead_at: int
    redriven_as: str | None = None


class Census(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Figures for people on call."""

    by_state: dict[str, int]
    """Jobs that are not terminal, by state."""
    at_work: dict[str, int]
    """Steps that a service has acknowledged and is working on, by step type."""
    unsent: int
    """Attempts whose directive the bus has not taken."""
    due: int
    dead_letters: int
    due_lag_ms: int
    """How long the oldest due job has been waiting."""


Judge = Callable[[Job, Usage], Change]
Opener = Callable[[Usage], Change]
Listener = Callable[[Sequence[Change]], None]


class Ledger(Protocol):
    """Jobs, durable and queryable."""

    @property
    def capabilities(self) -> LedgerCapabilities:
        """What this ledger can do."""
        ...

    def create(self, claim: Claim, opener: Opener) -> Awaitable[Opened]:
        """Make a job for the claim, or find the one that has it. Durable when it answers."""
        ...

    def change(self, job_id: str, judge: Judge, *, patient: bool = False) -> Awaitable[Change | None]:
        """Let `judge` decide and commit its answer; None if there is no such job.

        `patient`: nobody waits for this one, it may share the commit of whatever comes next.
        """
        ...

    def on_commit(self, listener: Listener) -> None:
        """Tell `listener` of every batch of changes right after it became durable."""
        ...

    async def job(self, job_id: str) -> Job | None:
        """The job as committed."""
        ...

    async def jobs(self, query: JobQuery) -> list[Job]:
        """Up to `limit` jobs, newest first."""
        ...

    async def events(self, job_id: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """A job's events in their order."""
        ...

    async def outbox(self, job_ids: Sequence[str]) -> list[OutboxRow]:
        """The directives of the current attempts of these jobs."""
        ...

    async def open_attempts(self, *, after: str = "", limit: int = 500) -> list[str]:
        """Ids (ascending) of jobs with an attempt that is not over: what a volatile bus forgot."""
        ...

    async def due(self, now: int, limit: int) -> list[str]:
        """Jobs whose wake-up time has come, longest waiting first. Costs O(limit)."""
        ...

    async def dead_letters(self, query: JobQuery) -> list[DeadLetter]:
        """Jobs that failed for good, newest first."""
        ...

    async def census(self, now: int, tenants: frozenset[str] | None = None) -> Census:
        """Counts of what is not over."""
        ...

    async def purge(self, before: int, limit: int) -> int:
        """Forget up to `limit` jobs that were over before that time; how many were forgotten."""
        ...
