"""Background duties: one thing each, done once a call, with a report."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one round of a duty did."""

    duty: str
    acted: int = 0
    details: dict[str, int] = {}
    more: bool = False
    """There was more to do than one round takes: come again at once."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A round that was done."""

    at: int
    """When it ended, in milliseconds since the epoch."""
    report: Report


class Duty(Protocol):
    """Something Lucius does from time to time."""

    name: str
    interval: float
    """Seconds between rounds."""

    async def run_once(self) -> Report:
        """One round."""
        ...
