"""What callers may send besides commands: strict shapes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from lucius.ports.bus import Settlement

Tenant = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
StepType = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
LockToken = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Reason = Annotated[str, msgspec.Meta(max_length=1000)]
JobId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base: what is not known is refused, so that a typing error is no surprise later."""


class CommandBatch(Asked, frozen=True, kw_only=True):
    """Several commands, each judged on its own."""

    items: Annotated[list[Any], msgspec.Meta(min_length=1, max_length=100)]


class ReplyBatch(Asked, frozen=True, kw_only=True):
    """Several replies, each with its own `type` and `callback_token`."""

    replies: Annotated[list[Any], msgspec.Meta(min_length=1, max_length=500)]


class ReceiveRequest(Asked, frozen=True, kw_only=True):
    """Which directives, how many, and how long to wait for the first one."""

    step_types: Annotated[list[StepType], msgspec.Meta(max_length=32)] = []
    max: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    wait_seconds: Annotated[float, msgspec.Meta(ge=0, le=30)] = 0
    tenants: Annotated[list[Tenant], msgspec.Meta(min_length=1, max_length=100)] | None = None


class SettlementItem(Asked, frozen=True, kw_only=True):
    """How one directive is given back."""

    lock_token: LockToken
    outcome: Settlement
    reason: Reason = ""


class SettleRequest(Asked, frozen=True, kw_only=True):
    """Several directives given back."""

    settlements: Annotated[list[SettlementItem], msgspec.Meta(min_length=1, max_length=500)]


class RenewRequest(Asked, frozen=True, kw_only=True):
    """Locks to keep."""

    lock_tokens: Annotated[list[LockToken], msgspec.Meta(min_length=1, max_length=500)]


class CancelRequest(Asked, frozen=True, kw_only=True):
    """Why a job is cancelled."""

    reason: Reason | None = None


class OutboxRetry(Asked, frozen=True, kw_only=True):
    """Whose unsent directives to send now; none named: everybody's."""

    job_ids: Annotated[list[JobId], msgspec.Meta(max_length=500)] = []


class RedriveRequest(Asked, frozen=True, kw_only=True):
    """Which dead letters to run again; at most `limit` are looked at."""

    tenant_id: Tenant | None = None
    error_code: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None
    cursor: Annotated[str, msgspec.Meta(max_length=400)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 50


class ReplyBody(msgspec.Struct, frozen=True, kw_only=True, rename={"job_id": "jobId", "step_id": "stepId"}):
    """What every reply names: the attempt it is about. Fields that are not known are ignored."""

    job_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    step_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    tenant_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    attempt_no: Annotated[int, msgspec.Meta(ge=1)]
    lease_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    timestamp: str
    correlation_id: str | None = None
    callback_token: str | None = None
    """Instead of `Authorization: Bearer` or `X-Callback-Token`."""


class AckBody(ReplyBody, frozen=True, kw_only=True):
    """The directive was picked up."""

    type: Literal["ACK"] = "ACK"


class HeartbeatBody(ReplyBody, frozen=True, kw_only=True):
    """The work goes on."""

    type: Literal["HEARTBEAT"] = "HEARTBEAT"
    progress: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    message: str | None = None


class RefBody(msgspec.Struct, frozen=True, kw_only=True):
    """A reference: a `uri`, and whatever else its owner likes."""

    uri: str


class FaultBody(msgspec.Struct, frozen=True, kw_only=True):
    """Why something failed."""

    code: str
    message: str = ""


class ResultBody(ReplyBody, frozen=True, kw_only=True):
    """The work is over."""

    status: Literal["SUCCEEDED", "FAILED_RETRY", "FAILED_FINAL", "FAILED"]
    type: Literal["RESULT"] = "RESULT"
    output_ref: RefBody | None = None
    artifacts: list[RefBody] = []
    error: FaultBody | None = None
    failure_class: Literal["RETRYABLE", "NON_RETRYABLE"] | None = None
