"""One call for whoever commits: metrics, log lines and spans of what was committed.

The commit is already durable when this runs, so nothing in here may fail it: an error is counted,
logged once per part, and the other parts still run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from lucius.ports.ledger import Change as Committed
from lucius.telemetry.commits import Change
from lucius.telemetry.journal import Journal
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.traces import Traces


class CommitObserver:
    """Feeds all of telemetry from committed changes. One thread at a time."""

    def __init__(self, *, metrics: Metrics, journal: Journal, traces: Traces) -> None:
        self._metrics = metrics
        self._parts: list[tuple[str, Callable[[Sequence[Change]], None]]] = [
            ("metrics", metrics.observe_commit),
            ("journal", journal.observe_commit),
        ]
        if traces.enabled:
            self._parts.append(("traces", traces.observe_commit))
        self._told: set[str] = set()

    def observe_commit(self, changes: Sequence[Change]) -> None:
        """Tell every part; never raises."""
        for name, observe in self._parts:
            try:
                observe(changes)
            except Exception:  # noqa: BLE001 the commit stands, whatever telemetry thinks of it
                self._swallow(name)

    def listen(self, changes: Sequence[Committed]) -> None:
        """The listener to give to `ledger.on_commit`: one batch that just became durable."""
        self._metrics.observe_batch(len(changes))
        self.observe_commit([(change.decision.job, change.decision.events) for change in changes])

    def _swallow(self, name: str) -> None:
        self._metrics.failed(name)
        if name not in self._told:
            self._told.add(name)
            structlog.get_logger(__name__).exception("telemetry failed", part=name)
