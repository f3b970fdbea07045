"""A call as a value: what to send, what comes back, and whether sending it twice does harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

T = TypeVar("T")
Param = str | int | bool | Sequence[str] | None
"""What may stand in a query; a sequence stands several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request to Lucius and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    repeatable: bool
    """True: asking twice is as good as asking once, so a lost answer may be asked for again."""
    params: Mapping[str, str | int | Sequence[str]] = field(default_factory=dict)
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def read(self, document: Any) -> T:
        """The typed answer. Fields this client does not know are passed over: servers grow."""
        return msgspec.convert(document, type=self.answer, strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a client goes on trying."""

    attempts: int = 4
    first_wait: float = 0.1
    longest_wait: float = 2.0
    longest_retry_after: float = 5.0
    """A server that asks for a longer pause is not waited for; its refusal is passed on."""


def segment(text: str) -> str:
    """An id as one segment of a path, whatever is in it."""
    return quote(text, safe="")


def given(**params: Param) -> dict[str, str | int | Sequence[str]]:
    """Query parameters without those that were not given."""
    spelled: dict[str, str | int | Sequence[str]] = {}
    for name, value in params.items():
        if value is None:
            continue
        spelled[name] = ("true" if value else "false") if isinstance(value, bool) else value
    return spelled
