"""Dates as people write them, in figures or with the month's name in English or German.

Where a letter stands beside a figure the blank may be missing: text that was recognised often lost it.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

_MONTHS: Final = (
    ("january", "januar", "jan"),
    ("february", "februar", "feb"),
    ("march", "märz", "maerz", "mar", "mär"),
    ("april", "apr"),
    ("may", "mai"),
    ("june", "juni", "jun"),
    ("july", "juli", "jul"),
    ("august", "aug"),
    ("september", "sept", "sep"),
    ("october", "oktober", "oct", "okt"),
    ("november", "nov"),
    ("december", "dezember", "dec", "dez"),
)
_NUMBERS: Final = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names}
_NAME: Final = "|".join(sorted(_NUMBERS, key=len, reverse=True))
DATE: Final = re.compile(
    rf"""(?<![\w.,/-])(?:
        (?P<iso_y>\d{{4}})-(?P<iso_m>\d{{2}})-(?P<iso_d>\d{{2}})
      | (?P<a>\d{{1,2}})(?P<mark>[./-])\s?(?P<b>\d{{1,2}})(?P=mark)\s?(?P<c>\d{{4}}|\d{{2}})
      | (?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.)?\s?(?:of\s)?(?P<m1>{_NAME})\.?,?\s?(?P<y1>\d{{4}})
      | (?P<m2>{_NAME})\.?\s?(?P<d2>\d{{1,2}})(?:(?:st|nd|rd|th)?,?\s|,)(?P<y2>\d{{4}})
      | (?P<m3>{_NAME})\s(?P<y3>\d{{4}})
    )(?![\w/-])""",
    re.IGNORECASE | re.VERBOSE,
)


def read_date(match: re.Match[str]) -> tuple[str, int] | None:
    """The date as `YYYY-MM-DD` (as written if day and month look alike); None: no such day."""
    text, part = match.group(), match.group
    try:
        if part("iso_y"):
            plain = _iso(part("iso_y"), part("iso_m"), part("iso_d"))
        elif part("a"):
            plain = _figures(part("a"), part("b"), part("c"), part("mark")) or text
        elif part("m3"):
            plain = f"{int(part('y3')):04}-{_NUMBERS[part('m3').lower()]:02}"
        else:
            month = str(_NUMBERS[(part("m1") or part("m2")).lower()])
            plain = _iso(part("y1") or part("y2"), month, part("d1") or part("d2"))
    except ValueError:
        return None
    return plain, len(text)


def _iso(year: str, month: str, day: str) -> str:
    return dt.date(int(year), int(month), int(day)).isoformat()


def _figures(first: str, second: str, year: str, mark: str) -> str | None:
    """Points say day first; with other marks only a number above 12 tells."""
    full = year if len(year) == 4 else f"20{year}"  # noqa: PLR2004 - a year with its century
    twelve = 12
    if mark == "." or int(first) > twelve or first == second:
        return _iso(full, second, first)
    if int(second) > twelve:
        return _iso(full, first, second)
    return None
