"""Callback tokens: the right to report about one attempt.

A token is `lct1.<key id>.<expiry>.<mac>`, the MAC an HMAC-SHA256 over the length-prefixed tenant,
job, step, attempt, lease, expiry and audience. It carries no claims of its own: the reply names the
attempt, and the token either fits that reply or does not.

One token for each attempt: `callback_token` in its directive is good for the ACK, the heartbeats and
the result of exactly that attempt, and for nothing else. The audience in the MAC says "callbacks", so
that no other use of the same keys can ever yield one. An ACK sent to the result route is refused by its
`type`, not by its token: whoever holds a directive may say all three things about it anyway.

Tokens are deterministic: the same attempt, key and expiry give the same bytes, so a directive that
is published again stays the same. They may be used many times; a replay is the core's `duplicate`.
Fencing is by attempt and lease, so the expiry is generous: it must outlive every lease that
heartbeats can extend, and late replies should still get their verdict.

Fails as `Unauthenticated`: it does not verify, or it has expired.
"""

from __future__ import annotations

import hmac

import msgspec

from lucius.errors import Unauthenticated
from lucius.security.callback_keys import CallbackKey, CallbackKeys

PREFIX = "lct1"
_MAX_LENGTH = 160
_PARTS = 4


_AUDIENCE = b"9:callbacks"


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt a token speaks for."""

    tenant_id: str
    job_id: str
    step_id: str
    attempt_no: int
    lease_id: str


def mint(binding: Binding, key: CallbackKey, expires_at: int) -> str:
    """The token of an attempt."""
    expiry = str(expires_at)
    return f"{PREFIX}.{key.key_id}.{expiry}.{key.mac(_bound(binding, expiry))}"


def verify(token: str, binding: Binding, keys: CallbackKeys, now: int) -> None:
    """Raise unless the token allows replies about this attempt, now."""
    parts = token.split(".") if len(token) <= _MAX_LENGTH and token.isascii() else []
    if len(parts) != _PARTS or parts[0] != PREFIX:
        raise _refused()
    _, key_id, expiry, given = parts
    key = keys.find(key_id)
    if key is None or not hmac.compare_digest(key.mac(_bound(binding, expiry)), given):
        raise _refused()
    # Only now is the expiry known to be one that Lucius wrote.
    if now >= int(expiry):
        raise Unauthenticated("The callback token has expired.", code="TOKEN_EXPIRED")


def _bound(binding: Binding, expiry: str) -> bytes:
    """What is signed. Lengths come first, so no two bindings give the same text."""
    tenant, job, step, lease = binding.tenant_id, binding.job_id, binding.step_id, binding.lease_id
    attempt = str(binding.attempt_no)
    return (
        f"{PREFIX}\n{len(tenant)}:{tenant}{len(job)}:{job}{len(step)}:{step}"
        f"{len(attempt)}:{attempt}{len(lease)}:{lease}{len(expiry)}:{expiry}"
    ).encode("utf-8", "surrogatepass") + _AUDIENCE


def _refused() -> Unauthenticated:
    return Unauthenticated(
        "The callback token does not belong to this attempt; send the one from its directive unchanged."
    )
