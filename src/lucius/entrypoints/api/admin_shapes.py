"""What the admin routes, the probes and the protocol list answer with."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lucius.entrypoints.api.shapes import Accepted, LimitShares, Share
from lucius.entrypoints.http.problems import ProblemDocument

_IDS = {"job_id": "jobId"}


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """How many directives were handed to the relay again."""

    offered: int


class DeadLetterView(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """A job that failed for good."""

    job_id: str
    tenant_id: str
    step_id: str | None
    error_code: str
    error_message: str
    dead_at: str
    redriven_as: str | None


class DeadLetterPage(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters, newest first."""

    dead_letters: list[DeadLetterView]
    next_cursor: str | None


class RedriveItem(msgspec.Struct, frozen=True, kw_only=True, rename=_IDS):
    """What became of one dead letter: `job`, or `problem`."""

    job_id: str
    status: int
    job: Accepted | None
    problem: ProblemDocument | None


class RedriveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of each dead letter that was looked at and not redriven before."""

    redriven: int
    results: list[RedriveItem]


class LaneView(msgspec.Struct, frozen=True, kw_only=True):
    """Where messages go in one mode."""

    mode: str
    lane: int
    routing_key_used: str
    topic: str
    reply_topic: str


class LanesView(msgspec.Struct, frozen=True, kw_only=True):
    """Where messages of a tenant and document go, and what waits."""

    tenant_id: str
    doc_id: str | None
    lanes: list[LaneView]
    unsent: int | None
    backlog: dict[str, int] | None


class TenantLimitsView(msgspec.Struct, frozen=True, kw_only=True):
    """One tenant."""

    tenant_id: str
    limits: LimitShares


class LimitsView(msgspec.Struct, frozen=True, kw_only=True):
    """Limits against what is in use; the system's only for those who may see all tenants."""

    system: Share | None
    tenants: list[TenantLimitsView]


class StepRecipeView(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a recipe."""

    step_id: str
    step_type: str
    service: str
    group: str | None
    ack_timeout_ms: int
    lease_ms: int
    max_dispatch_attempts: int
    max_execution_attempts: int
    payload_schema: dict[str, Any]


class ProtocolView(msgspec.Struct, frozen=True, kw_only=True):
    """A recipe."""

    protocol_id: str
    version: str
    request_type: str
    aliases: list[str]
    description: str
    deadline_ms: int | None
    steps: list[StepRecipeView]


class ProtocolList(msgspec.Struct, frozen=True, kw_only=True):
    """Every recipe."""

    protocols: list[ProtocolView]


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison."""

    name: str
    ok: bool
    detail: str
    figures: dict[str, int]
    job_ids: list[str]


class DriftView(msgspec.Struct, frozen=True, kw_only=True):
    """What a drift check found."""

    ok: bool
    checked_at: str
    jobs_read: int
    complete: bool
    checks: list[CheckView]


class ConfigProblemView(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the configuration, and where."""

    file: str
    line: int
    column: int
    pointer: str
    message: str
    remedy: str


class ReloadView(msgspec.Struct, frozen=True, kw_only=True):
    """What a reload did. `kept`: the new version is bad, the last good one stays."""

    outcome: Literal["unchanged", "reloaded", "kept"]
    version: str
    checked_at: str
    problems: list[ConfigProblemView]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The process answers."""

    status: Literal["ok"]
    version: str


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether work is taken, and what each part says."""

    status: Literal["ready", "not_ready"]
    components: dict[str, str]
