"""What is counted of lifebook runs: from changes that were written, and from steps that this process ran.

Fed on the event loop. Workflows, codes and workspaces are bounded in number, later ones are `other`; codes
are the words of whoever wrote the steps. Nothing here is told inputs, artifacts or messages of errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.telemetry import catalogue as c
from lucius.telemetry.counts import Cap, Spread, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lucius.lifebook.core.run import Run

WORKFLOWS = 50
CODES = 50
WORKER_LOST = "WORKER_LOST"
_RUNNING, _OVER = "running", ("failed", "dead")


class RunCounts:
    """Numbers of lifebook runs in one process."""

    def __init__(
        self, tallies: Mapping[str, Tally], spreads: Mapping[str, Spread], *, workspaces: int
    ) -> None:
        """`workspaces`: how many get a label of their own."""
        self._tallies = tallies
        self._step_seconds = spreads[c.LIFEBOOK_STEP_SECONDS.name]
        self._run_seconds = spreads[c.LIFEBOOK_RUN_SECONDS.name]
        self._wait_seconds = spreads[c.LIFEBOOK_WAIT_SECONDS.name]
        self._workspaces = workspaces
        self._workspace = Cap(workspaces)
        self._workflow = Cap(WORKFLOWS)
        self._code = Cap(CODES)

    def created(self, run: Run, *, fresh: bool) -> None:
        """A creation that was answered with this run."""
        outcome = "fresh" if fresh else "replayed"
        self._add(c.LIFEBOOK_CREATED, self._workflow(run.workflow_id), outcome)
        if fresh:
            self._came(run)

    def changed(self, before: Run, after: Run) -> None:
        """A change that was written."""
        if after.status is not before.status:
            self._came(after)
        if before.status.value == _RUNNING:
            if after.status.value in _OVER:
                self._add(c.LIFEBOOK_FAILURES, self._code(after.last_error_code or "UNKNOWN"))
            elif after.crashes > before.crashes:
                self._add(c.LIFEBOOK_FAILURES, self._code(WORKER_LOST))
        if after.sends > before.sends:
            self._add(c.LIFEBOOK_AGAIN, "continued" if after.continued > before.continued else "overdue")
        if after.credits_spent > before.credits_spent:
            spent = (after.credits_spent - before.credits_spent) / 100
            self._tallies[c.LIFEBOOK_CREDITS.name].add((), spent)
        if after.completed_at is not None and before.completed_at is None:
            seconds = (after.completed_at - after.created_at) / 1000
            self._run_seconds.observe((self._workflow(after.workflow_id), after.status.value), seconds)

    def refused(self, kind: str, code: str) -> None:
        """A command that had no effect."""
        self._add(c.LIFEBOOK_REFUSALS, kind, code)

    def waited(self, seconds: float) -> None:
        """The time of a message until it was first taken."""
        self._wait_seconds.observe((), seconds)

    def missed(self) -> None:
        """A heartbeat that was not taken."""
        self._add(c.LIFEBOOK_BEATS_MISSED)

    def step(self, workflow_id: str, outcome: str, seconds: float) -> None:
        """A step that ended here."""
        self._step_seconds.observe((self._workflow(workflow_id), outcome), seconds)

    def _came(self, run: Run) -> None:
        self._add(c.LIFEBOOK_MOVES, run.status.value)
        if self._workspaces:
            self._add(c.LIFEBOOK_WORKSPACES, self._workspace(run.workspace_id), run.status.value)

    def _add(self, metric: c.Metric, *labels: str) -> None:
        self._tallies[metric.name].add(labels)
