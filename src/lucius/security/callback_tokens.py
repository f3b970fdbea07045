"""Callback tokens: the right to say one kind of thing about one attempt.

A token is `lct1.<key id>.<expiry>.<mac>`, the MAC an HMAC-SHA256 over the length-prefixed tenant,
job, step, attempt, lease, expiry and audience. It carries no claims of its own: the reply names the
attempt, and the token either fits that reply or does not.

One token for each audience, and the audience is the callback route: `callback_token` in a directive
is an object `{ack, heartbeat, result}`. Heartbeats and ACKs go out early and often and pass through
more logs; whoever picks one of their tokens up can keep a lease alive but cannot deliver a result.
A single token for all three would make "swap ACK and RESULT" a matter of the body alone. The three
share one MAC prefix, so the separation costs about a microsecond a directive.

Tokens are deterministic: the same attempt, key and expiry give the same bytes, so a directive that
is published again stays the same. They may be used many times; a replay is the core's `duplicate`.
Fencing is by attempt and lease, so the expiry is generous: it must outlive every lease that
heartbeats can extend, and late replies should still get their verdict.

Fails as `Unauthenticated` (does not verify, expired) or `Forbidden` (a good token, another route).
"""

from __future__ import annotations

import hmac
from enum import StrEnum

import msgspec

from lucius.errors import Forbidden, Unauthenticated
from lucius.security.callback_keys import CallbackKey, CallbackKeys

PREFIX = "lct1"
_MAX_LENGTH = 160
_PARTS = 4


class Audience(StrEnum):
    """The callback routes; the last segment of their paths."""

    ACK = "ack"
    HEARTBEAT = "heartbeat"
    RESULT = "result"


_SUFFIX = {audience: f"{len(audience)}:{audience}".encode() for audience in Audience}
_ACK, _HEARTBEAT, _RESULT = (_SUFFIX[audience] for audience in Audience)


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt a token speaks for."""

    tenant_id: str
    job_id: str
    step_id: str
    attempt_no: int
    lease_id: str


def mint_all(binding: Binding, key: CallbackKey, expires_at: int) -> dict[str, str]:
    """The tokens of an attempt by audience, as they stand in its directive."""
    expiry = str(expires_at)
    head = f"{PREFIX}.{key.key_id}.{expiry}."
    mac = key.mac_after(_bound(binding, expiry))
    return {"ack": head + mac(_ACK), "heartbeat": head + mac(_HEARTBEAT), "result": head + mac(_RESULT)}


def mint(binding: Binding, audience: Audience, key: CallbackKey, expires_at: int) -> str:
    """One token of an attempt."""
    expiry = str(expires_at)
    return f"{PREFIX}.{key.key_id}.{expiry}.{key.mac(_bound(binding, expiry) + _SUFFIX[audience])}"


def verify(token: str, binding: Binding, audience: Audience, keys: CallbackKeys, now: int) -> None:
    """Raise unless the token allows this kind of reply about this attempt, now."""
    parts = token.split(".") if len(token) <= _MAX_LENGTH and token.isascii() else []
    if len(parts) != _PARTS or parts[0] != PREFIX:
        raise _refused()
    _, key_id, expiry, given = parts
    key = keys.find(key_id)
    if key is None:
        raise _refused()
    bound = _bound(binding, expiry)
    if not hmac.compare_digest(key.mac(bound + _SUFFIX[audience]), given):
        raise _why_not(bound, audience, key, given)
    # Only now is the expiry known to be one that Lucius wrote.
    if now >= int(expiry):
        raise Unauthenticated("The callback token has expired.", code="TOKEN_EXPIRED")


def _bound(binding: Binding, expiry: str) -> bytes:
    """What is signed, up to the audience. Lengths come first, so no two bindings give the same text."""
    tenant, job, step, lease = binding.tenant_id, binding.job_id, binding.step_id, binding.lease_id
    attempt = str(binding.attempt_no)
    return (
        f"{PREFIX}\n{len(tenant)}:{tenant}{len(job)}:{job}{len(step)}:{step}"
        f"{len(attempt)}:{attempt}{len(lease)}:{lease}{len(expiry)}:{expiry}"
    ).encode("utf-8", "surrogatepass")


def _why_not(bound: bytes, audience: Audience, key: CallbackKey, given: str) -> Unauthenticated | Forbidden:
    """Tell an honest service that it mixed its tokens up; tell everybody else nothing."""
    for other in Audience:
        if hmac.compare_digest(key.mac(bound + _SUFFIX[other]), given):
            return Forbidden(
                f"This is the attempt's {other.value} token; send callback_token.{audience.value} here.",
                code="WRONG_AUDIENCE",
            )
    return _refused()


def _refused() -> Unauthenticated:
    return Unauthenticated(
        "The callback token does not belong to this attempt; send the one from its directive unchanged."
    )
