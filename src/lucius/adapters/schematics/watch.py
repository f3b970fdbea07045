"""The duty that notices edited files.

State: none of its own. News (a new version, or a bad one that was not taken) goes to `tell` once;
rounds that find nothing new are silent, but their reports go on counting the problems.
"""

from __future__ import annotations

from collections.abc import Callable

from lucius.adapters.schematics.files import FileSchematics
from lucius.ports.duties import Report
from lucius.ports.schematics import Outcome, ReloadReport


class WatchFiles:
    """Looks at the configuration directory every `interval` seconds."""

    def __init__(
        self, schematics: FileSchematics, *, tell: Callable[[ReloadReport], None], interval: float = 5.0
    ) -> None:
        self.name = "schematics"
        self.interval = interval
        self._schematics = schematics
        self._tell = tell

    async def run_once(self) -> Report:
        """One look; `acted` is 1 when a new version was taken."""
        report = await self._schematics.poll()
        if report.outcome is not Outcome.UNCHANGED:
            self._tell(report)
        taken = int(report.outcome is Outcome.RELOADED)
        return Report(duty=self.name, acted=taken, details={"problems": len(report.problems)})
