"""What the routes of schedules and hooks take and answer with. The OpenAPI document is made from these."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from lucius.entrypoints.api.lifebook.requests import UserId
from lucius.entrypoints.api.requests import Asked
from lucius.lifebook.ports.triggers import Hook, Schedule
from lucius.security.redaction import redact
from lucius.wire.timestamps import iso

WorkflowId = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class LifebookScheduleRequest(Asked, frozen=True, kw_only=True):
    """A schedule that is asked for."""

    workflow_id: WorkflowId
    cron: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    """Minute, hour, day of month, month, day of week; in UTC."""
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    """What its runs are given; at most 32 KiB."""
    user_id: UserId | None = None
    """Whose its runs are; nobody named: whoever asks."""


class LifebookHookRequest(Asked, frozen=True, kw_only=True):
    """A hook that is asked for."""

    workflow_id: WorkflowId
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    """What its runs are given beside `payload`, the body of the request."""
    user_id: UserId | None = None
    """Whose its runs are; nobody named: whoever asks."""


class LifebookSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of a workflow at the times of a cron expression."""

    schedule_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    cron: str
    input: dict[str, Any]
    enabled: bool
    next_at: str | None
    """Null while it is paused."""
    created_at: str


class LifebookSchedules(msgspec.Struct, frozen=True, kw_only=True):
    """Every schedule of a workspace."""

    schedules: list[LifebookSchedule]


class LifebookHook(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that another system calls, with signed requests, to start runs of a workflow."""

    hook_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    path: str
    """Where signed requests are sent."""
    input: dict[str, Any]
    created_at: str


class LifebookNewHook(LifebookHook, frozen=True, kw_only=True):
    """A hook that was made now."""

    secret: str
    """For the sender, to sign with (Standard Webhooks). It is not told again."""


class LifebookHooks(msgspec.Struct, frozen=True, kw_only=True):
    """Every hook of a workspace."""

    hooks: list[LifebookHook]


class LifebookStarted(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a signed request started."""

    job_id: str
    duplicate: bool
    """Whether a request with the same `webhook-id` had started it before."""


def schedule_view(schedule: Schedule) -> LifebookSchedule:
    """A schedule as everybody may see it."""
    return LifebookSchedule(
        schedule_id=schedule.schedule_id,
        workspace_id=schedule.workspace_id,
        user_id=schedule.user_id,
        workflow_id=schedule.workflow_id,
        cron=schedule.cron,
        input=redact(schedule.input),
        enabled=schedule.enabled,
        next_at=iso(schedule.next_at) if schedule.enabled else None,
        created_at=iso(schedule.created_at),
    )


def hook_view(hook: Hook) -> LifebookHook:
    """A hook as everybody may see it: without its secret."""
    return LifebookHook(**_shown(hook))


def new_hook_view(hook: Hook) -> LifebookNewHook:
    """A hook for whoever made it, this once."""
    return LifebookNewHook(**_shown(hook), secret=hook.secret)


def _shown(hook: Hook) -> dict[str, Any]:
    return {
        "hook_id": hook.hook_id,
        "workspace_id": hook.workspace_id,
        "user_id": hook.user_id,
        "workflow_id": hook.workflow_id,
        "path": f"/v1/lifebook/hooks/{hook.hook_id}",
        "input": redact(hook.input),
        "created_at": iso(hook.created_at),
    }
