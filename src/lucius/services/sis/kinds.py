r"""Kinds of values that can be picked out of any text: amounts, dates, addresses, numbers.

Each kind is a pattern whose repetitions are bounded (time grows with the text alone, whatever is in it) and
a reader that turns what was found into a plain value, or says that it was none after all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from lucius.services.sis.dates import DATE, read_date

_NUMBER: Final = (
    r"\d{1,3}(?:[ .,'’\u00a0\u202f]\d{3}){1,5}(?:[.,]\d{1,2})?(?!\d)|\d{1,15}(?:[.,]\d{1,2})?(?!\d)"
)
_CURRENCY: Final = r"EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|€|\$|£|¥|₹"
_SCALE: Final = r"thousand|million|billion|trillion|mio\.?|mrd\.?|mn|bn|k|m"
_SIGNS: Final = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR"}
_POWERS: Final = {"k": 3, "t": 3, "mil": 6, "mio": 6, "mn": 6, "m": 6, "b": 9, "mrd": 9, "tri": 12}
_IBAN_COUNTRIES: Final = {
    15: "NO",
    16: "BE",
    18: "DK FI NL",
    19: "SI",
    20: "AT EE LT LU",
    21: "CH HR LI LV",
    22: "BG DE GB IE",
    23: "AE IL",
    24: "AD CZ ES RO SA SE SK",
    25: "PT",
    26: "IS TR",
    27: "FR GR IT MC SM",
    28: "CY HU PL",
    29: "UA",
    31: "MT",
}
_IBAN_LENGTHS: Final = {
    country: length for length, held in _IBAN_COUNTRIES.items() for country in held.split()
}
_PHONE_DIGITS: Final = range(7, 16)


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Where a value stands in a text, and what it says in plain form."""

    start: int
    end: int
    plain: str


def values(kind: str, text: str) -> Iterator[Value]:
    """Every value of a kind in a text, from left to right."""
    pattern, read = _KINDS[kind]
    for match in pattern.finditer(text):
        found = read(match)
        if found is not None:
            plain, length = found
            yield Value(start=match.start(), end=match.start() + length, plain=plain)


Read = Callable[[re.Match[str]], tuple[str, int] | None]
"""The plain form and the length of what counts; None: it was something else."""


def _as_it_stands(match: re.Match[str]) -> tuple[str, int] | None:
    return match.group(), len(match.group())


def _amount(match: re.Match[str]) -> tuple[str, int] | None:
    number, currency = match.group("n1") or match.group("n2"), match.group("c1") or match.group("c2")
    scale = (match.group("s1") or match.group("s2") or "").lower().strip(" .")
    power = next(
        (_POWERS[name] for name in sorted(_POWERS, key=len, reverse=True) if scale.startswith(name)), 0
    )
    plain = decimal(number)
    code = _SIGNS.get(currency, currency.upper())
    return f"{plain}{f'e{power}' if scale and power else ''} {code}", len(match.group())


def decimal(number: str) -> str:
    """A number as it is written in either half of the world, with a point: `1.234,50` is `1234.50`."""
    bare = re.sub(r"[ '’\u00a0\u202f]", "", number)
    last = max(bare.rfind("."), bare.rfind(","))
    if last < 0:
        return bare
    grouped = len(bare) - last - 1 == 3 and (bare[:last].count(bare[last]) > 0 or not bare.startswith("0"))  # noqa: PLR2004
    whole = re.sub(r"[.,]", "", bare[:last])
    return whole + bare[last + 1 :] if grouped else f"{whole}.{bare[last + 1 :]}"


def _percentage(match: re.Match[str]) -> tuple[str, int] | None:
    return f"{match.group('sign') or ''}{match.group('n').replace(',', '.')}%".replace("−", "-"), len(
        match.group()
    )


def _phone(match: re.Match[str]) -> tuple[str, int] | None:
    text = match.group()
    digits = re.sub(r"\D", "", text)
    local = text.startswith(("+", "0", "(")) or re.fullmatch(r"\d{3}[-. ]\d{3}[-. ]\d{4}", text)
    if len(digits) not in _PHONE_DIGITS or not local or DATE.match(text):
        return None
    return ("+" if text.startswith("+") else "") + digits, len(text)


def _iban(match: re.Match[str]) -> tuple[str, int] | None:
    text, wanted = match.group(), _IBAN_LENGTHS.get(match.group()[:2])
    length = held = 0
    for length, character in enumerate(text, start=1):  # noqa: B007 - where the last character stands is needed
        held += character != " "
        if held == wanted:
            break
    bare = text[:length].replace(" ", "")
    if len(bare) != wanted or text[length : length + 1].isalnum():
        return None
    turned = "".join(str(int(each, 36)) for each in bare[4:] + bare[:4])
    return (bare, length) if int(turned) % 97 == 1 else None


def _url(match: re.Match[str]) -> tuple[str, int] | None:
    text = match.group().rstrip(".,;:!?")
    return text, len(text)


_AMOUNT: Final = (
    rf"(?<![\w.,])(?:(?P<c1>{_CURRENCY})\s?(?P<n1>{_NUMBER})(?:\s?(?P<s1>{_SCALE})(?!\w))?"
    rf"|(?P<n2>{_NUMBER})(?:\s?(?P<s2>{_SCALE}))?\s?(?P<c2>{_CURRENCY}))(?![^\W_])"
)
_KINDS: Final[dict[str, tuple[re.Pattern[str], Read]]] = {
    "amount": (re.compile(_AMOUNT, re.IGNORECASE), _amount),
    "date": (DATE, read_date),
    "email": (
        re.compile(
            r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,6}[A-Za-z]{2,24}(?![\w-])"
        ),
        _as_it_stands,
    ),
    "iban": (re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}"), _iban),
    "number": (
        re.compile(rf"(?<![\w.,])[+−-]?(?:{_NUMBER})(?!\w)"),
        lambda match: (decimal(match.group().replace("−", "-")), len(match.group())),
    ),
    "percentage": (
        re.compile(
            r"(?<![\w.,])(?P<sign>[+−-])?(?P<n>\d{1,9}(?:[.,]\d{1,6})?)\s?(?:%|(?:per ?cent|Prozent)(?!\w))",
            re.IGNORECASE,
        ),
        _percentage,
    ),
    "phone": (re.compile(r"(?<![\w.+/-])(?:\+|\()?\d[\d ()./-]{5,22}\d(?!\w)"), _phone),
    "time": (
        re.compile(
            r"(?<![\w:.])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:\s?[ap]\.?m)?(?![\w:])", re.IGNORECASE
        ),
        _as_it_stands,
    ),
    "url": (re.compile(r"(?:https?://|(?<!\w)www\.)[^\s<>\"'()\[\]{}]{1,500}", re.IGNORECASE), _url),
}
