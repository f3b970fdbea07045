"""What a service may ask the kit: the shapes of the real API, refused with a pointer in the same way."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from lucius.errors import Invalid, Problem
from lucius.wire.strict_json import MAX_BYTES, MAX_DEPTH, parse

T = TypeVar("T")
MAX_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_DEPTH = MAX_DEPTH + 2

Tenant = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
StepType = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
LockToken = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Reason = Annotated[str, msgspec.Meta(max_length=1000)]


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base: what is not known is refused."""


class ReceiveRequest(Asked, frozen=True, kw_only=True):
    """Which directives, how many, and how long to wait for the first one."""

    step_types: Annotated[list[StepType], msgspec.Meta(max_length=32)] = []
    max: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    wait_seconds: Annotated[float, msgspec.Meta(ge=0, le=30)] = 0
    tenants: Annotated[list[Tenant], msgspec.Meta(min_length=1, max_length=100)] | None = None


class SettlementItem(Asked, frozen=True, kw_only=True):
    """How one directive is given back."""

    lock_token: LockToken
    outcome: Literal["complete", "abandon", "dead_letter"]
    reason: Reason = ""


class SettleRequest(Asked, frozen=True, kw_only=True):
    """Several directives given back."""

    settlements: Annotated[list[SettlementItem], msgspec.Meta(min_length=1, max_length=500)]


class RenewRequest(Asked, frozen=True, kw_only=True):
    """Locks to keep."""

    lock_tokens: Annotated[list[LockToken], msgspec.Meta(min_length=1, max_length=500)]


class ReplyBatch(Asked, frozen=True, kw_only=True):
    """Several replies, each with its own `type` and `callback_token`."""

    replies: Annotated[list[Any], msgspec.Meta(min_length=1, max_length=500)]


def read(raw: bytes, shape: type[T], *, limit: int = MAX_BYTES) -> T:
    """The request in `raw`; `Invalid` with the reason if it is none."""
    document = parse(raw, max_bytes=limit, max_depth=_BATCH_DEPTH)
    try:
        return msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        problem = Problem(pointer="", code="INVALID_FIELD", message=f"{error}.")
        raise Invalid(problem.message, code="INVALID_REQUEST", problems=(problem,)) from error
