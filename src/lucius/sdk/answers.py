"""What Lucius answers, as far as this client reads it.

Tolerant on purpose: unknown fields are passed over and all but the identifying ones may be missing, so
that a client outlives its server's next version. Times are ISO-8601 text, as they came.
"""

from __future__ import annotations

from typing import Any, Self

import msgspec

TERMINAL_EVENTS = frozenset({"job.succeeded", "job.failed", "job.cancelled"})
TERMINAL_STATES = frozenset({"SUCCEEDED", "FAILED_FINAL", "CANCELLED"})


class Receipt(msgspec.Struct, frozen=True, kw_only=True, rename={"job_id": "jobId"}):
    """A command that was accepted: its job, new or already there."""

    job_id: str
    status: str
    state: str = ""
    duplicate: bool = False
    links: dict[str, str] = {}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a job."""

    step_id: str
    state: str
    status: str = ""
    step_type: str = ""
    service: str = ""
    attempt_no: int | None = None
    progress: float | None = None
    progress_message: str | None = None
    published_at: str | None = None
    acked_at: str | None = None
    retry_at: str | None = None
    completed_at: str | None = None
    last_error_code: str | None = None
    last_error_message: str | None = None
    result_ref: dict[str, Any] | None = None

    @property
    def started_at(self) -> str | None:
        """When the current attempt was picked up, or at least sent."""
        return self.acked_at or self.published_at


class Job(msgspec.Struct, frozen=True, kw_only=True, rename={"job_id": "jobId"}):
    """A job as it stands."""

    job_id: str
    tenant_id: str
    request_type: str
    state: str
    status: str
    steps: tuple[Step, ...] = ()
    version: int = 0
    progress: float = 0.0
    attempts_total: int = 0
    mode: str = ""
    lane: int | None = None
    topic: str = ""
    decision_reason: str = ""
    priority: int = 0
    doc_id: str | None = None
    correlation_id: str | None = None
    idempotency_key: str | None = None
    ancestor_id: str | None = None
    input_ref: dict[str, Any] | None = None
    output_ref: dict[str, Any] | None = None
    final_output: dict[str, Any] | None = None
    error_code: str | None = None
    error_message: str | None = None
    not_before: str | None = None
    next_due_at: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    completed_at: str | None = None

    @property
    def over(self) -> bool:
        """True when nothing about this job will ever change again."""
        return self.state in TERMINAL_STATES


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some jobs, newest first, and how to ask for the next ones."""

    jobs: tuple[Job, ...]
    next_cursor: str | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a job; `more` holds what is special to its type."""

    seq: int
    type: str
    at: str
    step_id: str | None = None
    attempt_no: int | None = None
    more: dict[str, Any] = {}

    def of(self, document: dict[str, Any]) -> Self:
        """This event with everything its document says."""
        return msgspec.structs.replace(self, more=document)


class Events(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a job's events."""

    events: tuple[dict[str, Any], ...]

    def read(self) -> list[Event]:
        """The events, typed."""
        return [msgspec.convert(entry, type=Event, strict=False).of(entry) for entry in self.events]
