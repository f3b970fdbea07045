"""What the API answers with, besides jobs and problems. The OpenAPI document is made from these."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lucius.core.decide import Verdict
from lucius.core.job import Fault
from lucius.core.states import JobState, StepState
from lucius.entrypoints.http.problems import ProblemDocument
from lucius.usecases.explain_words import Kind
from lucius.wire.views import JobStatus, JobSummary, Links, StepView

_IDS = {"job_id": "jobId", "step_id": "stepId"}


class Accepted(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """A command became a job, or is one already."""

    job_id: str
    status: JobStatus
    state: JobState
    duplicate: bool
    links: Links


class BatchItem(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one command: `job`, or `problem`."""

    index: int
    status: int
    job: Accepted | None
    problem: ProblemDocument | None


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each command, in the order sent."""

    accepted: int
    refused: int
    results: list[BatchItem]


class PlannedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step as it would run."""

    step_id: str
    step_type: str
    service: str
    payload: dict[str, Any]
    ack_timeout_ms: int
    lease_ms: int
    max_dispatch_attempts: int
    max_execution_attempts: int


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a limit is in use; no limit: null."""

    in_use: int
    limit: int | None


class LimitShares(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant's limits and what it holds of them."""

    tenant: Share
    tenant_burst: Share


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job would be refused at this moment."""

    code: str
    detail: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a command would become. Nothing was created."""

    tenant_id: str
    request_type: str
    protocol_id: str
    protocol_version: str
    mode: str
    lane: int
    routing_key_used: str
    topic: str
    reply_topic: str
    decision_source: str
    decision_reason: str
    idempotency_hash: str
    not_before: str | None
    steps: list[PlannedStep]
    limits: LimitShares
    admitted: bool
    refusal: Refusal | None


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs newest first."""

    jobs: list[JobSummary]
    next_cursor: str | None


class StepList(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """The steps of a job."""

    job_id: str
    steps: list[StepView]


class EventPage(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """Events in their order; ask again with `after=next_after`."""

    job_id: str
    state: JobState
    events: list[dict[str, Any]]
    next_after: int
    more: bool


class DeliveryTry(msgspec.Struct, frozen=True, kw_only=True):
    """One try at a webhook."""

    at: str
    took_ms: int
    status: int | None
    code: str | None
    error: str | None


class DeliveryItem(msgspec.Struct, frozen=True, kw_only=True):
    """One event on its way to one URL."""

    delivery_id: str
    seq: int
    event_type: str
    url: str
    state: str
    tries: int
    created_at: str
    next_at: str | None
    attempts: list[DeliveryTry]


class DeliveryList(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """The webhooks of a job."""

    job_id: str
    deliveries: list[DeliveryItem]


class BlockingView(msgspec.Struct, frozen=True, kw_only=True):
    """What a job waits for."""

    kind: Kind
    since: str
    step_id: str | None
    attempt_no: int | None


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """How long the line is."""

    position_estimate: int | None
    ahead_of_tenant: int | None
    service_backlog: int | None


class ExplanationView(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """Why a job stands where it stands."""

    job_id: str
    state: JobState
    status: JobStatus
    because: str
    blocking: BlockingView
    lane: int
    topic: str
    queue: QueueView
    limits: LimitShares
    next_due_at: str | None
    next_action: str
    last_error: Fault | None
    history: list[dict[str, Any]]


class ReplyAnswer(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """How a reply was judged, and what the service should know."""

    verdict: Verdict
    job_id: str
    step_id: str
    state: JobState | None
    step_state: StepState | None
    lease_expires_at: str | None
    cancel_requested: bool


class ReplyItem(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one reply: `answer`, or `problem`."""

    index: int
    status: int
    answer: ReplyAnswer | None
    problem: ProblemDocument | None


class ReplyBatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each reply, in the order sent."""

    results: list[ReplyItem]


class Lent(msgspec.Struct, frozen=True, kw_only=True):
    """A directive, lent until its lock runs out."""

    lock_token: str
    locked_until: str
    delivery_count: int
    directive: dict[str, Any]


class ReceiveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Directives to work on; empty when nothing came in time."""

    directives: list[Lent]


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the lock was still held."""

    lock_token: str
    result: Literal["ok", "lost"]


class SettleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One line for each settlement, in the order sent."""

    results: list[Settled]


class Renewed(msgspec.Struct, frozen=True, kw_only=True):
    """Until when a lock is held now."""

    lock_token: str
    result: Literal["ok", "lost"]
    locked_until: str | None


class RenewAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One line for each lock, in the order sent."""

    results: list[Renewed]
