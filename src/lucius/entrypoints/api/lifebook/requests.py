"""What callers of lifebook routes may send: strict shapes."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from lucius.entrypoints.api.requests import Asked, Reason
from lucius.lifebook.core.states import TriggerType

# Python's `$` would let a newline at the end pass.
UserId = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{1,128}(?!\n)$")]
WorkspaceId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}(?!\n)$")]
IdempotencyKey = Annotated[str, msgspec.Meta(pattern=r"^[ -~]{1,200}(?!\n)$")]
DepositId = Annotated[str, msgspec.Meta(pattern=r"^[!-~]{1,128}(?!\n)$")]


class LifebookCreate(Asked, frozen=True, kw_only=True):
    """A run that is asked for."""

    workspace_id: WorkspaceId
    user_id: UserId
    workflow_id: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    trigger_type: TriggerType = TriggerType.MANUAL
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    """Small values and references, for the steps; at most 32 KiB."""
    idempotency_key: IdempotencyKey | None = None
    """The same key in the same workspace is the same run; none: every request is a run of its own."""


class LifebookCancel(Asked, frozen=True, kw_only=True):
    """Why a run is canceled."""

    reason: Reason | None = None


class LifebookRetry(Asked, frozen=True, kw_only=True):
    """Whose the new run is; nobody named: whoever asks."""

    user_id: UserId | None = None


class LifebookDeposit(Asked, frozen=True, kw_only=True):
    """Credits for a workspace, added once for each `deposit_id`."""

    credits: Annotated[float, msgspec.Meta(gt=0, le=10**10)]
    """At most two decimals."""
    deposit_id: DepositId
