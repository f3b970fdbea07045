"""Times and amounts the way people say them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from lucius.errors import Invalid
from lucius.wire.timestamps import parse_iso

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_NONE = "–"


def duration(ms: int | None) -> str:
    """How long: `0.52 s`, `12.3 s`, `2m 05s`, `3h 12m`, `2d 4h`."""
    if ms is None:
        return _NONE
    ms = max(ms, 0)
    if ms < 10 * _SECOND:
        return f"{ms / _SECOND:.2f} s"
    if ms < _MINUTE:
        return f"{ms / _SECOND:.1f} s"
    if ms < _HOUR:
        return f"{ms // _MINUTE}m {ms % _MINUTE // _SECOND:02d}s"
    if ms < _DAY:
        return f"{ms // _HOUR}h {ms % _HOUR // _MINUTE:02d}m"
    return f"{ms // _DAY}d {ms % _DAY // _HOUR}h"


def between(start: str | None, end: str | None) -> int | None:
    """Milliseconds from one time to another; None when one is not known."""
    first, last = moment(start), moment(end)
    return None if first is None or last is None else last - first


def moment(text: str | None) -> int | None:
    """A time from the wire in milliseconds; None for none, and for one that is not to be read."""
    if text is None:
        return None
    try:
        return parse_iso(text)
    except Invalid:
        return None


def ago(text: str | None, now: int) -> str:
    """How long since: `just now`, `12 s ago`, `3 min ago`, `2 h ago`, `5 d ago`; `in 20 s` for later."""
    then = moment(text)
    if then is None:
        return _NONE
    passed = now - then
    if abs(passed) < _SECOND:
        return "just now"
    amount = _coarse(abs(passed))
    return f"{amount} ago" if passed > 0 else f"in {amount}"


def clock(text: str | None, zone: tzinfo | None = None) -> str:
    """A time of day in the reader's zone: `2031-05-04 12:30:07`."""
    then = moment(text)
    if then is None:
        return _NONE
    return datetime.fromtimestamp(then / _SECOND, UTC).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 job`, `2 jobs`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: float) -> str:
    """Bytes: `512 B`, `3.4 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:  # noqa: PLR2004
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def _coarse(ms: int) -> str:
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if ms >= unit:
            return f"{ms // unit} {name}"
    return f"{ms // _SECOND} s"
