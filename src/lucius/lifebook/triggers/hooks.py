"""Hooks: signed requests of other systems become runs. The signature is the only credential.

Signatures are those of Standard Webhooks: HMAC over `id.timestamp.body`. The library signs; the time is
compared here, because the library knows no clock but its own. A header may hold several signatures, so that
a sender can change over from one secret to the next.

    unknown hook, wrong or missing signature, altered body, stale or early time    one refusal, the same work
    the same `webhook-id` again                                                    the run it has become
    the same `webhook-id`, signed for another body                                 IDEMPOTENCY_KEY_REUSED

A request is parsed only after its signature was found good. No state beside the store's.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from standardwebhooks import Webhook

from lucius.errors import Unauthenticated
from lucius.lifebook.core.keys import KeySpace
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.ports.store import Created
from lucius.lifebook.ports.triggers import Hook, TriggerStore
from lucius.lifebook.usecases.create import Create, RunRequest
from lucius.wire.strict_json import parse

PREFIX = "whsec_"
MAX_BODY_BYTES = 32_768
TOLERANCE = 5 * 60
"""Seconds that a request may be older, or younger, than our clock says."""
MOST_SIGNATURES = 8
_HOOK_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[!-~]{1,256}")
_SECONDS = re.compile(r"[0-9]{1,12}")


class Hooks:
    """Judges signed requests, and starts their runs."""

    def __init__(
        self, store: TriggerStore, create: Create, *, clock: Callable[[], int], stand_in: str
    ) -> None:
        """`stand_in`: a secret nobody has, against which requests to unknown hooks are compared."""
        self._store = store
        self._create = create
        self._clock = clock
        self._stand_in = stand_in

    async def receive(self, hook_id: str, headers: Mapping[str, str], body: bytes) -> Created:
        """The run of a request, made now or before; raises `Unauthenticated`, or as `Create` does.

        `headers` by their lower-case names.
        """
        hook = await self._store.hook(hook_id) if _HOOK_ID.fullmatch(hook_id) else None
        secret = self._stand_in if hook is None else hook.secret
        genuine = genuine_at(self._clock() // 1000, secret, headers, body)
        if hook is None or not genuine:
            raise Unauthenticated("There is no such hook, or the signature is not its own, or not fresh.")
        payload = parse(body, max_bytes=MAX_BODY_BYTES)
        return await self._create.create(_request(hook, headers["webhook-id"], payload))


def genuine_at(now: int, secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether one of the signatures is the secret's, for this id, time and body, and the time is now.

    The same work whatever is wrong: something is signed and compared in every case.
    """
    message_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    # Longer, or in other letters, it would not be the text that was signed.
    sound = _ID.fullmatch(message_id) is not None and _SECONDS.fullmatch(stamp) is not None
    said = int(stamp) if sound and stamp == str(int(stamp)) else 0
    fresh = abs(now - said) <= TOLERANCE
    try:
        text = body.decode()
    except UnicodeDecodeError:
        sound, text = False, ""
    at = datetime.fromtimestamp(said if fresh else now, UTC)
    expected = Webhook(secret).sign(message_id if sound else "", at, text).encode()
    given = headers.get("webhook-signature", "").split(" ")[:MOST_SIGNATURES]
    matches = [hmac.compare_digest(expected, one.encode()) for one in given]
    return sound and fresh and any(matches)


def _request(hook: Hook, message_id: str, payload: dict[str, Any]) -> RunRequest:
    return RunRequest(
        workspace_id=hook.workspace_id,
        user_id=hook.user_id,
        workflow_id=hook.workflow_id,
        trigger_type=TriggerType.WEBHOOK,
        input={**hook.input, "payload": payload},
        key=f"webhook:{hook.hook_id}:{message_id}",
        space=KeySpace.WEBHOOK,
    )
