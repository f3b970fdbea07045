"""A mapping read key by key; whatever is wrong is noted, with its place, and reading goes on.

A field that is wrong answers with its default, so one pass finds every problem. The value built
from a section is worth something only while its list of problems is empty.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

from lucius.adapters.schematics.reading import Document
from lucius.adapters.schematics.scalars import milliseconds, shown, spoken
from lucius.core.pointer import child
from lucius.ports.schematics import ConfigProblem

_DURATIONS = 'a number of seconds or a string such as "30s", "15m" or "2h"'


class Section:
    """One mapping of a document."""

    def __init__(
        self, document: Document, problems: list[ConfigProblem], pointer: str = "", value: object = None
    ) -> None:
        self.document = document
        self.problems = problems
        self.pointer = pointer
        held = document.value if pointer == "" else value
        self.values: dict[str, Any] = held if isinstance(held, dict) else {}
        if not isinstance(held, dict):
            self.wrong(None, f"is {shown(held)}", "write a mapping of names to values")

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def wrong(self, name: str | None, message: str, remedy: str, *, at_key: bool = False) -> None:
        """Note a problem with the field `name` (None: with the section itself)."""
        pointer = self.pointer if name is None else child(self.pointer, name)
        self.problems.append(self.document.problem(pointer, message, remedy, at_key=at_key))

    def only(self, *known: str, required: tuple[str, ...] = ()) -> None:
        """Refuse keys that nobody reads, and miss the ones that must be there."""
        for name in self.values:
            if name not in known:
                close = difflib.get_close_matches(name[:64], known, n=1)
                hint = f'did you mean "{close[0]}"?' if close else f"known here: {', '.join(known)}"
                self.wrong(name, f"{shown(name)} is not a known key", hint, at_key=True)
        for name in required:
            if name not in self.values:
                self.wrong(None, f'"{name}" is missing', f'add "{name}"')

    def text(
        self, name: str, default: str = "", *, pattern: re.Pattern[str] | None = None, form: str = ""
    ) -> str:
        """A string; with `pattern` one of that form, which `form` says in words."""
        value = self.values.get(name, default)
        if name not in self.values:
            return default
        if not isinstance(value, str):
            self.wrong(name, f"is {shown(value)}", form or "write a text; quote it if it looks like a number")
            return default
        if pattern is not None and not pattern.fullmatch(value):
            self.wrong(name, f"is {shown(value)}", form)
            return default
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(name, default)
        if isinstance(value, bool):
            return value
        self.wrong(name, f"is {shown(value)}", "write true or false")
        return default

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """An integer between `low` and `high`."""
        value = self.values.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self.wrong(name, f"is {shown(value)}", f"write a whole number from {low} to {high}")
        return default

    def share(self, name: str, default: float) -> float:
        """A number from 0 to 1."""
        value = self.values.get(name, default)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        self.wrong(name, f"is {shown(value)}", "write a number from 0 to 1")
        return default

    def choice(self, name: str, default: str, names: dict[str, str]) -> str:
        """One of a few words (any case); the answer is what the word stands for."""
        value = self.values.get(name, default)
        if isinstance(value, str) and value.upper() in names:
            return names[value.upper()]
        self.wrong(name, f"is {shown(value)}", f"write one of {', '.join(names)}")
        return default

    def span(self, name: str, default: int, low: int, high: int) -> int:
        """A duration in milliseconds between `low` and `high`."""
        if name not in self.values:
            return default
        return self._span(name, self.values[name], low, high) or default

    def spans(self, name: str, default: tuple[int, ...], low: int, high: int, most: int) -> tuple[int, ...]:
        """A list of 1 to `most` durations."""
        if name not in self.values:
            return default
        value = self.values[name]
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            remedy = f'write a list of 1 to {most} durations, such as ["30s", "2m", "10m"]'
            self.wrong(
                name, f"is {shown(value)}" + (f" of {len(value)}" if isinstance(value, list) else ""), remedy
            )
            return default
        return tuple(self._span(f"{name}/{at}", one, low, high) or low for at, one in enumerate(value))

    def texts(
        self, name: str, default: tuple[str, ...], pattern: re.Pattern[str], form: str
    ) -> tuple[str, ...]:
        """A list of strings, each of the form `pattern`."""
        if name not in self.values:
            return default
        value = self.values[name]
        if not isinstance(value, list):
            self.wrong(name, f"is {shown(value)}", f"write a list; {form}")
            return default
        for at, one in enumerate(value):
            if not isinstance(one, str) or not pattern.fullmatch(one):
                self._wrong_inside(f"{name}/{at}", f"is {shown(one)}", form)
        return tuple(one for one in value if isinstance(one, str))

    def section(self, name: str) -> Section | None:
        """The mapping under `name`, if it is there."""
        if name not in self.values:
            return None
        return Section(self.document, self.problems, child(self.pointer, name), self.values[name])

    def sections(self, name: str) -> Iterator[tuple[str, Section]]:
        """The mappings in the list or mapping under `name`, with their index or key."""
        value = self.values.get(name)
        base = child(self.pointer, name)
        pairs = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in pairs:
            yield str(key), Section(self.document, self.problems, child(base, key), inner)

    def _span(self, path: str, value: object, low: int, high: int) -> int | None:
        span = milliseconds(value)
        if span is None:
            self._wrong_inside(path, f"{shown(value)} is not a duration", f"write {_DURATIONS}")
            return None
        if not low <= span <= high:
            self._wrong_inside(
                path, f"is {shown(value)}", f"write a duration from {spoken(low)} to {spoken(high)}"
            )
            return None
        return span

    def _wrong_inside(self, path: str, message: str, remedy: str) -> None:
        self.problems.append(self.document.problem(f"{self.pointer}/{path}", message, remedy))
