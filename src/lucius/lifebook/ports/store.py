"""The store of runs and wallets. It writes what was decided, all of it or nothing, and never decides.

Every write is conditional. `commit` names the version the decision was made on; whoever comes second gets
`RunConflictError`, reads again and decides again. A write whose answer was lost is looked up before it is
repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from lucius.errors import LuciusError
from lucius.lifebook.core.decide import Decision
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.run import Run, Summary
from lucius.lifebook.core.wallet import Wallet


class RunConflictError(LuciusError):
    """Somebody else wrote first: read again, decide again."""

    code = "RUN_CHANGED"
    status = 409
    retryable = True


class Created(msgspec.Struct, frozen=True, kw_only=True):
    """The run that holds an idempotency key."""

    run: Run
    fresh: bool
    """Whether this call made it; otherwise it is the one that was there, whatever it was asked for."""


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of a workspace, newest first."""

    runs: tuple[Summary, ...]
    cursor: str | None
    """Where the next page begins; None: this is the last."""


class RunStore(Protocol):
    """Runs, wallets and events that wait to be told. Raises `Unavailable` when it cannot be reached."""

    async def create(self, run: Run, *, opening: int) -> Created:
        """The record, its key and its reservation together; raises `InsufficientCreditsError`.

        A workspace without a wallet gets one with `opening` hundredths, as its first deposit.
        """
        ...

    async def get(self, job_id: str) -> Run | None:
        """A run as it is now (a strongly consistent read)."""
        ...

    async def commit(self, before: Run, decision: Decision) -> None:
        """Write a decision made on `before`, with its settlement and its event; raises `RunConflictError`."""
        ...

    async def runs(self, workspace_id: str, *, limit: int, cursor: str | None = None) -> RunPage:
        """Newest first; raises `Invalid` for a cursor that is not one."""
        ...

    async def due(self, now: int, limit: int) -> Sequence[Run]:
        """Open runs with `due_at <= now`, most overdue first."""
        ...

    async def wallet(self, workspace_id: str) -> Wallet | None:
        """The credits of a workspace; None: it never had any."""
        ...

    async def deposit(self, workspace_id: str, amount: int, *, deposit_id: str) -> Wallet:
        """Add hundredths once for each `deposit_id`; raises `Refused` if that id brought another amount."""
        ...

    async def untold(self, limit: int) -> Sequence[RunEvent]:
        """Events that were not told yet, oldest first."""
        ...

    async def claim_events(self, now: int, limit: int, *, lease: int) -> Sequence[RunEvent]:
        """As `untold`, without those that others claimed; they get none of these for `lease` milliseconds."""
        ...

    async def told(self, event: RunEvent, at: int) -> None:
        """The event has been told; harmless if it was noted before."""
        ...

    async def forget(self, now: int, limit: int) -> int:
        """Remove what `ttl_at` allows; how many runs went. A store that does so by itself answers 0."""
        ...

    async def close(self) -> None:
        """Let go of files and connections."""
        ...
