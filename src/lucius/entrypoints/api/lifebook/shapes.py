"""What lifebook routes answer with. The OpenAPI document is made from these."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lucius.lifebook.core.states import Status, TriggerType

StepState = Literal["done", "running", "failed", "waiting", "skipped"]


class LifebookItem(msgspec.Struct, frozen=True, kw_only=True):
    """The item of the contract, by its names; what it does not have is null."""

    job_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    trigger_type: TriggerType
    status: Status
    attempts: int
    max_attempts: int
    step_cursor: int
    steps_total: int
    credits_estimate: float
    credits_reserved: float
    credits_spent: float
    idempotency_key: str
    last_error_code: str | None
    last_error_message: str | None
    created_at: str
    updated_at: str
    started_at: str | None
    completed_at: str | None
    ttl_at: int | None


class LifebookStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step; `credits` is what it may cost at most."""

    name: str
    state: StepState
    credits: float


class LifebookLock(msgspec.Struct, frozen=True, kw_only=True):
    """Who runs it, and until when unless the worker shows that it lives."""

    owner: str
    expires_at: str


class LifebookRun(LifebookItem, frozen=True, kw_only=True):
    """One run: the contract's item, what else is known of it, and why it stands where it stands."""

    why: str
    steps: list[LifebookStep]
    input: dict[str, Any]
    artifacts: dict[str, str]
    lock: LifebookLock | None
    next_attempt_at: str | None
    retry_of: str | None
    trace_id: str


class LifebookSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the list of its workspace shows it."""

    job_id: str
    workspace_id: str
    created_at: str
    status: Status
    workflow_id: str
    trigger_type: TriggerType
    credits_estimate: float


class LifebookPage(msgspec.Struct, frozen=True, kw_only=True):
    """Runs newest first; ask again with `cursor=next_cursor`."""

    jobs: list[LifebookSummary]
    next_cursor: str | None


class LifebookWallet(msgspec.Struct, frozen=True, kw_only=True):
    """Credits of a workspace: `deposited` is `available`, `reserved` and `spent` together."""

    workspace_id: str
    available: float
    reserved: float
    spent: float
    deposited: float


class LifebookLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A message among the dead letters, and what is known of its run."""

    message_id: str
    receives: int
    sent_at: str
    job_id: str | None
    workspace_id: str | None
    workflow_id: str | None
    status: Status | None
    last_error_code: str | None
    last_error_message: str | None
    body: str | None
    """The beginning of a body that cannot be read."""


class LifebookLetters(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters, in no order."""

    dead_letters: list[LifebookLetter]


class LifebookDiscarded(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages were deleted."""

    discarded: int


class LifebookPlannedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a workflow."""

    name: str
    credits: float
    timeout_seconds: float


class LifebookWorkflow(msgspec.Struct, frozen=True, kw_only=True):
    """What can be run."""

    workflow_id: str
    max_attempts: int
    credits_estimate: float
    steps: list[LifebookPlannedStep]


class LifebookWorkflows(msgspec.Struct, frozen=True, kw_only=True):
    """Every workflow that is registered here."""

    workflows: list[LifebookWorkflow]
