"""Log lines about committed events: the ordinary ones at debug, the ones to look at above it.

A job that just succeeds writes nothing unless debug is on; then the cost is one dict access per event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import structlog

from lucius.core import events as e
from lucius.core.job import Job
from lucius.telemetry.commits import Change
from lucius.telemetry.logs import ids_of

#: Events worth a line without debug.
LOUD: dict[type[e.Event], str] = {
    e.JobFailed: "warning",
    e.StepRetryScheduled: "warning",
    e.StepFailed: "warning",
    e.DirectiveRequeued: "info",
    e.ReplyRefused: "info",
    e.JobPaused: "info",
    e.JobResumed: "info",
    e.JobCancelling: "info",
    e.JobCancelled: "info",
}
_DETAILS = ("track", "error", "retry_at", "verdict", "reply", "reason", "publish_tries", "lease_id")


class Journal:
    """Writes the log lines of commits. Build it after `configure_logs`."""

    def __init__(self, logger: Any = None) -> None:
        self._log = (logger or structlog.get_logger("lucius.jobs")).bind()
        self._debug: bool = self._log.is_enabled_for(10)
        self._write: dict[type[e.Event], Callable[..., Any]] = {
            cls: getattr(self._log, level) for cls, level in LOUD.items()
        }

    def observe_commit(self, changes: Iterable[Change]) -> None:
        """One line for each event that deserves one at the level that is set."""
        loud, debug = self._write, self._debug
        for job, events in changes:
            for event in events:
                write = loud.get(type(event))
                if write is not None:
                    write(e.kind(event), **self._fields(job, event))
                elif debug:
                    self._log.debug(e.kind(event), **self._fields(job, event))

    @staticmethod
    def _fields(job: Job, event: e.Event) -> dict[str, Any]:
        step_id = getattr(event, "step_id", None)
        step = job.step(step_id) if step_id else None
        attempt_no = getattr(event, "attempt_no", None)
        fields: dict[str, Any] = ids_of(job)
        if step_id:
            fields["stepId"] = step_id
            if attempt_no is not None:
                fields["attempt_no"] = attempt_no
            # The event's own lease, never that of an attempt that came later in the same commit.
            if step and step.attempt and step.attempt.attempt_no == attempt_no:
                fields["lease_id"] = step.attempt.lease_id
        fields["seq"] = event.seq
        for name in _DETAILS:
            value = getattr(event, name, None)
            if value is not None:
                fields[name] = f"{value.code}: {value.message}" if name == "error" else value
        return fields
