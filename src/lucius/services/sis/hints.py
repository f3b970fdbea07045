"""What kind of value a question expects: `how much` an amount, `when` a date. A hint, never a rule."""

from __future__ import annotations

import re
from typing import Final

from lucius.services.sis.kinds import values

_EXPECTED: Final = (
    (
        re.compile(r"\b(how much|costs?|prices?|fees?|pay|paid|kosten|kostet|preis)\b", re.IGNORECASE),
        ("amount", "percentage"),
    ),
    (re.compile(r"\b(how many|number of|wie viele)\b", re.IGNORECASE), ("number",)),
    (re.compile(r"\b(when|dates?|which (day|year)|wann|datum)\b", re.IGNORECASE), ("date", "time")),
)


def expected(question: str) -> tuple[str, ...]:
    """The kinds of values one of which an answer should hold; none for most questions."""
    return tuple(kind for pattern, kinds in _EXPECTED if pattern.search(question) for kind in kinds)


def holds(kinds: tuple[str, ...], text: str) -> bool:
    """Whether a text holds a value of one of the kinds."""
    return any(True for kind in kinds for _ in values(kind, text))
