"""Standard Webhooks signatures: the receiver can tell that a message is ours, whole and fresh.

Every tenant has a secret of its own. Several at once sign side by side, newest first, so that a
receiver can change over without a gap. A tenant without a configured secret gets one derived from
the installation's: knowing one's own says nothing about another's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from standardwebhooks import Webhook

from lucius.errors import Invalid

PREFIX = "whsec_"
_MIN_BYTES, _MAX_BYTES = 24, 64


def make_secret(raw: bytes) -> str:
    """Raw key bytes in their `whsec_` form."""
    return PREFIX + base64.b64encode(raw).decode()


def read_secret(secret: str, *, owner: str) -> bytes:
    """The key bytes of a `whsec_` secret; the error names its owner, never its text."""
    try:
        raw = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not secret.startswith(PREFIX) or not _MIN_BYTES <= len(raw) <= _MAX_BYTES:
        message = (
            f"the webhook secret of {owner} is not usable: write {PREFIX} and the base64 of "
            f"{_MIN_BYTES} to {_MAX_BYTES} random bytes"
        )
        raise Invalid(message, code="WEBHOOK_SECRET_INVALID")
    return raw


class Signer:
    """Signs for every tenant. Holds secrets, so it never prints them."""

    def __init__(self, installation: str, tenants: Mapping[str, Sequence[str]] | None = None) -> None:
        self._root = read_secret(installation, owner="the installation")
        self._hooks: dict[str, tuple[Webhook, ...]] = {}
        for tenant_id, secrets in (tenants or {}).items():
            keys = [read_secret(secret, owner=f"tenant {tenant_id}") for secret in secrets]
            if keys:
                self._hooks[tenant_id] = tuple(Webhook(key) for key in keys)

    def __repr__(self) -> str:
        """Tenants only."""
        return f"Signer(tenants={sorted(self._hooks)})"

    def secret_of(self, tenant_id: str) -> str:
        """The derived secret of a tenant that has none configured, to be handed to its owner."""
        label = b"lucius webhook secret v1\x00" + tenant_id.encode()
        return make_secret(hmac.new(self._root, label, hashlib.sha256).digest())

    def headers(self, tenant_id: str, message_id: str, now: int, body: bytes) -> dict[str, str]:
        """The three headers of one try: same id every time, the time of this try, all signatures."""
        hooks = self._hooks.get(tenant_id) or (Webhook(self.secret_of(tenant_id)),)
        at = datetime.fromtimestamp(now // 1000, UTC)
        text = body.decode()
        return {
            "webhook-id": message_id,
            "webhook-timestamp": str(now // 1000),
            "webhook-signature": " ".join(hook.sign(message_id, at, text) for hook in hooks),
        }
