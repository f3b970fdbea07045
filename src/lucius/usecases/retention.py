"""Retention: jobs that have been over for long enough are forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.ports.ledger import Ledger


class Retention:
    """Purges a page of old jobs a round."""

    name = "retention"

    def __init__(
        self,
        ledger: Ledger,
        *,
        clock: Callable[[], int],
        keep_ms: int,
        interval: float = 60.0,
        page: int = 200,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._keep_ms = keep_ms
        self.interval = interval
        self._page = page

    async def run_once(self) -> Report:
        """One page of what is old enough."""
        gone = await self._ledger.purge(self._clock() - self._keep_ms, self._page)
        return Report(duty=self.name, acted=gone, more=gone == self._page)
