"""What this invoker has told workflows already: told again, it would only fill their histories.

A workflow takes ten thousand signals and no more. A service that repeats itself, by mistake or to do harm,
must not use them up. What is forgotten here, by a restart or because there was too much, is told once more.
"""

from __future__ import annotations

from collections import OrderedDict

Key = tuple[object, ...]
MOST = 20_000
"""Remembered at a time; the oldest are forgotten."""


class Repeats:
    """Remembers what was delivered, and nothing that was not."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._delivered: OrderedDict[Key, None] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._delivered

    def delivered(self, key: Key) -> None:
        """Temporal has it."""
        self._delivered[key] = None
        self._delivered.move_to_end(key)
        if len(self._delivered) > self._most:
            self._delivered.popitem(last=False)
