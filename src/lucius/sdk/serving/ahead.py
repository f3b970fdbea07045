"""How many directives to take ahead of work: enough that no place stands idle, and no more.

What is taken and not begun is not acknowledged, so Lucius would count its ACK timeout, and other
processes cannot have it. So only as much is taken as will be begun within a second, going by how long
work took lately; long work takes nothing ahead.
"""

from __future__ import annotations

from typing import Final

HORIZON: Final = 1.0
_WEIGHT: Final = 0.2
_LEAST: Final = 0.001


class Ahead:
    """Counts how long attempts take, and says how many more directives are wanted."""

    def __init__(self, concurrency: int, most: int) -> None:
        self._concurrency = concurrency
        self._most = most
        self._usual: float | None = None

    def took(self, seconds: float) -> None:
        """An attempt held its place for so long."""
        usual = self._usual
        self._usual = seconds if usual is None else usual + _WEIGHT * (seconds - usual)

    def room(self, running: int, held: int) -> int:
        """How many directives to ask for now; none while the line is more than half full.

        What is held keeps the places busy meanwhile, and one request brings many instead of a few.
        """
        ahead = self._ahead()
        if running >= self._concurrency and held > ahead // 2:
            return 0
        return self._concurrency - running + ahead - held

    def _ahead(self) -> int:
        if self._usual is None:
            return 0
        return min(self._most, int(self._concurrency * HORIZON / max(self._usual, _LEAST)))
