"""What SIS says: one answer for each prompt, how it came about, and where it stands in the document."""

from __future__ import annotations

from typing import Any, Final

import msgspec

NOT_FOUND: Final = "not found"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A passage an answer rests on."""

    page: int
    chunk: str
    score: float
    text: str


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A value that was picked out, once, with every page it was seen on."""

    text: str
    value: str
    pages: tuple[int, ...]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is said to one prompt.

    `how` is `pattern`, `kind:…`, `retrieval`, `model` or `not found`. `confidence` says which of two
    answers to look at first, not how likely one is true.
    """

    id: str
    question: str
    answer: str | None = None
    how: str = NOT_FOUND
    pages: tuple[int, ...] = ()
    confidence: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    matches: tuple[Match, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """`result.json`."""

    prompt_set: str
    answered_by: str
    """`document`, or `model:NAME` if a model wrote at least one of the answers."""
    answers: tuple[Answer, ...]
    note: str = ""
    read: dict[str, Any] = {}
    """How much was read: pages, chunks."""
