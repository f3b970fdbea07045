"""Which lane a job's messages take, and in which mode: computed once, stored, never again.

No state. A lane is CRC-32 of the routing key over 16. The routing key only picks a lane: in BURST it
is a plain concatenation, so two pairs may share it ("ab"+"c", "a"+"bc"). What must tell pairs apart
(sessions, ordering) uses `ordering_key`.

The mode is the request's, else the tenant's, else the global one. A tenant must be allowed BURST: a
request that asks for it without leave is refused; a configured default it has no leave for becomes
DEFAULT, and `decision_reason` says so. BURST without a document id is refused wherever it came from.
"""

from __future__ import annotations

import zlib

import msgspec

from lucius.core.job import Routing
from lucius.errors import Forbidden, Invalid, Problem

DEFAULT = "DEFAULT"
BURST = "BURST"
LANES = 16

REQUEST = "REQUEST"
TENANT_CONFIG = "TENANT_CONFIG"
GLOBAL_CONFIG = "GLOBAL_CONFIG"

_BLANKS = " \t\r\n"


class TenantRouting(msgspec.Struct, frozen=True, kw_only=True):
    """What one tenant has set; None leaves the global value standing."""

    mode: str | None = None
    burst_allowed: bool | None = None


class RoutingPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How modes are chosen and topics named. `tenants` is by normalised tenant id."""

    mode: str = DEFAULT
    burst_allowed: bool = False
    two_grids: bool = False
    """True: `global-default-p*` and `global-burst-p*` instead of one grid for both modes."""
    tenants: dict[str, TenantRouting] = {}


def trim(text: str) -> str:
    """Without blanks at the ends. ASCII blanks only: control characters are for the grammar to refuse."""
    return text.strip(_BLANKS)


def normalise(text: str) -> str:
    """The spelling of a tenant or document id that routing and idempotency use."""
    return trim(text).lower()


def routing_key(tenant_norm: str, doc_norm: str | None, mode: str) -> str:
    """What is hashed to pick a lane."""
    return tenant_norm + (doc_norm or "") if mode == BURST else tenant_norm


def lane_of(key: str) -> int:
    """The lane of a routing key, 0 to 15."""
    return zlib.crc32(key.encode()) % LANES


def ordering_key(tenant_norm: str, doc_norm: str) -> str:
    """The key under which one document's messages keep their order; no two pairs share it."""
    return f"{tenant_norm}\x1f{doc_norm}"


def topic_of(lane: int, mode: str, *, two_grids: bool = False) -> str:
    """Where directives go."""
    return f"global-{mode.lower()}-p{lane}" if two_grids else f"global-bus-p{lane}"


def reply_topic_of(lane: int) -> str:
    """Where replies come back; one grid always, for the modes share their readers."""
    return f"global-bus-replies-p{lane}"


def topics(*, two_grids: bool = False) -> tuple[str, ...]:
    """Every directive topic there is."""
    modes = (DEFAULT, BURST) if two_grids else (DEFAULT,)
    return tuple(topic_of(lane, mode, two_grids=two_grids) for mode in modes for lane in range(LANES))


def reply_topics() -> tuple[str, ...]:
    """Every reply topic there is."""
    return tuple(reply_topic_of(lane) for lane in range(LANES))


def route(*, tenant_id: str, doc_id: str | None, requested: str | None, policy: RoutingPolicy) -> Routing:
    """Choose mode, lane and topics; raises `Forbidden` or `Invalid` when BURST cannot be."""
    tenant = normalise(tenant_id)
    mode, source, reason = _choose_mode(tenant, requested, policy)
    if mode == BURST and not doc_id:
        problem = Problem(
            pointer="/doc_id",
            code="BURST_NEEDS_DOC_ID",
            message=f"Mode BURST ({reason}) needs a doc_id; send one, or ask for mode DEFAULT.",
        )
        raise Invalid(problem.message, code=problem.code, problems=(problem,))
    key = routing_key(tenant, normalise(doc_id) if doc_id else None, mode)
    lane = lane_of(key)
    return Routing(
        mode=mode,
        lane=lane,
        routing_key_used=key,
        topic=topic_of(lane, mode, two_grids=policy.two_grids),
        reply_topic=reply_topic_of(lane),
        decision_source=source,
        decision_reason=reason,
    )


def _choose_mode(tenant: str, requested: str | None, policy: RoutingPolicy) -> tuple[str, str, str]:
    """Mode, where it came from, and why."""
    own = policy.tenants.get(tenant, _NOTHING_SET)
    allowed = policy.burst_allowed if own.burst_allowed is None else own.burst_allowed
    if requested is not None:
        if requested == BURST and not allowed:
            problem = Problem(
                pointer="/mode",
                code="BURST_NOT_ALLOWED",
                message=f"Tenant {tenant} is not allowed mode BURST; leave mode out, or ask for DEFAULT.",
            )
            raise Forbidden(problem.message, code=problem.code, problems=(problem,))
        return requested, REQUEST, "asked for by the request"
    mode, source = (own.mode, TENANT_CONFIG) if own.mode else (policy.mode, GLOBAL_CONFIG)
    words = "the tenant's default" if source == TENANT_CONFIG else "the global default"
    if mode == BURST and not allowed:
        return DEFAULT, source, f"{words} is BURST, which this tenant is not allowed"
    return mode, source, words


_NOTHING_SET = TenantRouting()
