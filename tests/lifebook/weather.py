"""Faults that a test turns on and off by hand, for the world of the simulation."""

from __future__ import annotations

from lucius.testing.lifebook.simulation_plan import REFUSED, UNHEARD, WELL


class Weather:
    """What becomes of calls and messages, as rules say."""

    def __init__(self) -> None:
        self.away: set[str] = set()
        self.unheard = 0
        self.message = WELL

    def fate(self, port: str, _now: float) -> str:
        """Refused while the port is away; then so many answers are lost."""
        if port in self.away:
            return REFUSED
        if self.unheard > 0:
            self.unheard -= 1
            return UNHEARD
        return WELL

    def handling(self) -> str:
        """Of the next message; those after it are well."""
        fate, self.message = self.message, WELL
        return fate

    def latency(self) -> float:
        """None."""
        return 0.0

    def rest(self, seconds: float) -> float:
        """As long as usual."""
        return seconds
