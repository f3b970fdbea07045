"""What lifebook routes answer, as far as a client uses it; fields it does not know are passed over."""

from __future__ import annotations

from typing import Any

import msgspec

TERMINAL = frozenset({"completed", "dead", "canceled"})


class RunStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: `done`, `running`, `failed`, `waiting` or `skipped`."""

    name: str
    state: str
    credits: float = 0


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A lifebook run, by the contract's names."""

    job_id: str
    workspace_id: str
    workflow_id: str
    status: str
    created_at: str
    updated_at: str
    user_id: str = ""
    trigger_type: str = "manual"
    attempts: int = 0
    max_attempts: int = 0
    step_cursor: int = 0
    steps_total: int = 0
    credits_estimate: float = 0
    credits_reserved: float = 0
    credits_spent: float = 0
    idempotency_key: str = ""
    last_error_code: str | None = None
    last_error_message: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    next_attempt_at: str | None = None
    retry_of: str | None = None
    why: str = ""
    steps: tuple[RunStep, ...] = ()
    input: dict[str, Any] = {}
    artifacts: dict[str, str] = {}
    lock: dict[str, Any] | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or another."""
        return self.status in TERMINAL

    @property
    def error(self) -> str:
        """Code and message of the last failure; empty if there was none."""
        return ": ".join(part for part in (self.last_error_code, self.last_error_message) if part)

    def step_name(self, index: int) -> str:
        """The name of a step; of none, nothing."""
        return self.steps[index].name if 0 <= index < len(self.steps) else ""


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs of a workspace, newest first, and how to ask for the next ones."""

    jobs: tuple[dict[str, Any], ...]
    next_cursor: str | None = None


class Wallet(msgspec.Struct, frozen=True, kw_only=True):
    """Credits of a workspace: `deposited` is `available`, `reserved` and `spent` together."""

    workspace_id: str
    available: float
    reserved: float
    spent: float
    deposited: float
