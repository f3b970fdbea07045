"""What a word without quotes means, and how durations are written."""

from __future__ import annotations

import math
import re

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LARGEST = 2**53
_LONGEST = 32

_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|d)\Z")
_LONGEST_SPAN = 10**9
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


_SHOWN = 48


class BadScalar(Exception):  # noqa: N818 - turned into a ConfigProblem by the reader
    """A number that cannot be kept exactly."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def plain_scalar(text: str) -> str | int | float | bool | None:
    """An unquoted word by the YAML 1.2 core rules, with numbers that JSON can carry exactly."""
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.match(text):
        raise BadScalar(f"{text} is not a finite number", "write a finite number, or quote it")
    if not (_INTEGER.match(text) or _BASED.match(text) or _FLOAT.match(text)):
        return text
    if len(text) > _LONGEST:
        raise BadScalar(f"{text[:_LONGEST]}… is too long for a number", "shorten it, or quote it")
    if _BASED.match(text):
        return _exact(int(text, 0), text)
    if _INTEGER.match(text):
        return _exact(int(text), text)
    number = float(text)
    if not math.isfinite(number):
        raise BadScalar(f"{text} is not a finite number", "write a smaller number, or quote it")
    return number


def _exact(number: int, text: str) -> int:
    if abs(number) > _LARGEST:
        raise BadScalar(f"{text} is beyond 2^53", "write a smaller number, or quote it")
    return number


def milliseconds(value: object) -> int | None:
    """A duration written as seconds (`30`, `0.5`) or as `"30s"`, `"15m"`, `"2h"`; None if it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return round(max(-_LONGEST_SPAN, min(value, _LONGEST_SPAN)) * 1_000)
    if not isinstance(value, str):
        return None
    found = _DURATION.match(value.strip())
    return round(float(found[1]) * _UNITS[found[2]]) if found else None


def spoken(span: int) -> str:
    """A duration as people write it: the largest unit that divides it."""
    for unit in ("d", "h", "m", "s"):
        if span and span % _UNITS[unit] == 0:
            return f"{span // _UNITS[unit]}{unit}"
    return f"{span}ms"


def shown(value: object) -> str:
    """A value as an error message may show it: short, on one line."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
