"""When to try again, and when to stop. Pure.

| what came of it                                     | then                                       |
|-----------------------------------------------------|--------------------------------------------|
| 2xx                                                 | delivered                                  |
| 410 Gone, or a URL the policy no longer takes       | exhausted at once                          |
| other 3xx and 4xx, a host that is not public        | exhausted after 4 tries (about 2½ minutes) |
| 408 409 425 429, 5xx, time-out, DNS, TLS, no answer | exhausted after 8 tries (about 17½ hours)  |

A refusal gets a few tries because endpoints answer 404 or 401 while they are being deployed, but
no day of them: repeating what was understood and refused helps nobody. `Retry-After` can make a
wait longer, up to the longest step of the schedule, never shorter.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import msgspec

from lucius.ports.deliveries import DeliveryState
from lucius.webhooks.post import Answer

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
RETRY_DELAYS = (5 * SECOND, 30 * SECOND, 2 * MINUTE, 15 * MINUTE, 1 * HOUR, 4 * HOUR, 12 * HOUR)
REFUSED_TRIES = 4
JITTER = 0.2

_GONE = 410
_PASSING = frozenset({408, 409, 425, 429})
_STATIC = frozenset(
    {"WEBHOOK_URL_INVALID", "WEBHOOK_SCHEME", "WEBHOOK_USERINFO", "WEBHOOK_HOST", "WEBHOOK_PORT"}
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Where a delivery stands after a try, and when it is due again if it is."""

    state: DeliveryState
    next_at: int | None = None


def judge(answer: Answer, *, tries: int, now: int, chance: float) -> Outcome:
    """What follows from try number `tries` (from 1); `chance` in [0, 1) spreads the waits."""
    if answer.code is None:
        return Outcome(state=DeliveryState.DELIVERED)
    if tries >= _allowed_tries(answer):
        return Outcome(state=DeliveryState.EXHAUSTED)
    delay = round(RETRY_DELAYS[tries - 1] * (1 + JITTER * chance))
    asked = _asked_for(answer.retry_after, now)
    return Outcome(state=DeliveryState.PENDING, next_at=now + max(delay, min(asked, RETRY_DELAYS[-1])))


def _allowed_tries(answer: Answer) -> int:
    if answer.status == _GONE or answer.code in _STATIC:
        return 1
    refused = answer.status is not None and 300 <= answer.status < 500 and answer.status not in _PASSING  # noqa: PLR2004
    if refused or answer.code == "WEBHOOK_ADDRESS":
        return REFUSED_TRIES
    return len(RETRY_DELAYS) + 1


def _asked_for(retry_after: str | None, now: int) -> int:
    """Milliseconds the endpoint asks us to wait; 0 if it does not, or not in words we know."""
    if retry_after is None:
        return 0
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        # Eight digits are three years; more would only be there to make int() work.
        return int(text[:8]) * SECOND
    try:
        return max(0, round(parsedate_to_datetime(text).timestamp() * 1000) - now)
    except (ValueError, OverflowError):
        return 0
