"""Milliseconds since the epoch inside, ISO-8601 UTC with `Z` at the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from lucius.errors import Invalid


@lru_cache(maxsize=256)
def _to_the_second(seconds: int) -> str:
    # Messages of one second share all but their last four characters.
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


def iso(ms: int) -> str:
    """The wire form of a time: `2026-01-27T10:02:00.000Z`."""
    return f"{_to_the_second(ms // 1000)}.{ms % 1000:03d}Z"


def parse_iso(text: str) -> int:
    """Milliseconds of an ISO-8601 time; what is finer is cut off. A time without a zone is refused."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        message = f"{text[:40]!r} is not an ISO-8601 time with a zone; write it as 2026-01-27T10:02:00Z"
        raise Invalid(message, code="INVALID_TIMESTAMP")
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
