"""Times of a cron expression: five fields, in UTC, found with `cronsim`. No state.

Six fields (seconds) are refused, and so is an expression without a time in the next fifty years: whoever
wrote `30 2 30 2 *` waits for a day that never comes. Times are milliseconds since the epoch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from lucius.errors import Invalid, Problem

FIELDS = 5
MAX_LENGTH = 128
_SHAPE = "write minute, hour, day of month, month and day of week, as in `30 6 * * MON-FRI` (UTC)"


def check(cron: str) -> str:
    """The expression with single blanks between its fields; raises `Invalid` with a pointer."""
    parts = cron.split()
    if len(cron) > MAX_LENGTH or len(parts) != FIELDS:
        raise _invalid(f"A cron expression has {FIELDS} fields and at most {MAX_LENGTH} characters; {_SHAPE}")
    return " ".join(parts)


def after(cron: str, moment: int) -> int:
    """The first time after `moment`; raises `Invalid` for an expression that is wrong or never comes."""
    try:
        return _ms(next(CronSim(check(cron), _at(moment))))
    except StopIteration:
        raise _invalid(f"{cron!r} never comes: no day is like that in the next fifty years") from None
    except CronSimError as error:
        raise _invalid(f"{cron!r} is no time that comes ({error}); {_SHAPE}") from error


def latest(cron: str, moment: int) -> int:
    """The last time that is not after `moment`; raises `Invalid` as `after` does."""
    try:
        return _ms(next(CronSim(check(cron), _at(moment) + timedelta(seconds=1), reverse=True)))
    except (StopIteration, CronSimError) as error:
        raise _invalid(f"{cron!r} never came") from error


def slot_name(moment: int) -> str:
    """A time as keys name it: `2026-01-27T10:02:00Z`."""
    return _at(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def _at(moment: int) -> datetime:
    return datetime.fromtimestamp(moment // 1000, UTC)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000


def _invalid(message: str) -> Invalid:
    problem = Problem(pointer="/cron", code="INVALID_CRON", message=message)
    return Invalid(message, code="INVALID_CRON", problems=(problem,))
