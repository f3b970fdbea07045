"""What starts runs by itself: schedules, and hooks that other systems call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of a workflow at the times of a cron expression."""

    schedule_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    cron: str
    """Five fields, in UTC."""
    input: dict[str, Any] = {}
    enabled: bool = True
    next_at: int
    """The next time, in milliseconds since the epoch; its run's key names it."""
    created_at: int
    version: int = 1


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that another system calls, with signed requests, to start runs of a workflow."""

    hook_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    secret: str
    """`whsec_…` of Standard Webhooks; told once, when the hook is made."""
    input: dict[str, Any] = {}
    created_at: int


class TriggerStore(Protocol):
    """Schedules and hooks. Raises `Unavailable` when it cannot be reached."""

    async def put_schedule(self, schedule: Schedule, *, before: int | None) -> None:
        """Write it on condition that its version is `before` (None: that there is none).

        Raises `RunConflictError` otherwise.
        """
        ...

    async def schedule(self, schedule_id: str) -> Schedule | None:
        """One schedule."""
        ...

    async def schedules(self, workspace_id: str) -> Sequence[Schedule]:
        """All of a workspace, by id."""
        ...

    async def due_schedules(self, now: int, limit: int) -> Sequence[Schedule]:
        """Enabled ones with `next_at <= now`, most overdue first."""
        ...

    async def remove_schedule(self, schedule_id: str) -> None:
        """Forget it; harmless if it is gone."""
        ...

    async def put_hook(self, hook: Hook) -> None:
        """Write a new hook; raises `RunConflictError` if its id is taken."""
        ...

    async def hook(self, hook_id: str) -> Hook | None:
        """One hook."""
        ...

    async def hooks(self, workspace_id: str) -> Sequence[Hook]:
        """All of a workspace, by id."""
        ...

    async def remove_hook(self, hook_id: str) -> None:
        """Forget it; harmless if it is gone."""
        ...
