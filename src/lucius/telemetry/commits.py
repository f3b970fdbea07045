"""From committed events to numbers: one small function for each event that means something.

Fed with `(job, events)` pairs after each commit, by one thread. The job is the one after the
events, so an attempt that was replaced inside the same commit has no duration any more; it is
counted, not timed. Replies are counted from their events: a failed RESULT that ends a cancel leaves
only `step.cancelled` and is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lucius.core import events as e
from lucius.core.decide.timers import ACK_TIMEOUT, DEADLINE, DISPATCH_DEADLINE, LEASE_EXPIRED
from lucius.core.job import Fault, Job, Step
from lucius.telemetry import catalogue as c
from lucius.telemetry.counts import Cap, Spread, Tally

Change = tuple[Job, Sequence[e.Event]]
_Handler = Callable[[Job, Any], None]

#: Faults of the core that mean "a clock ran out". Whole faults, not codes: a service may use the codes too.
CLOCKS = {ACK_TIMEOUT: "ack", LEASE_EXPIRED: "lease", DISPATCH_DEADLINE: "dispatch"}
#: Replies that imply the ACK: right after one in the same decision, no ACK was sent.
_IMPLY_ACK = frozenset({e.LeaseExtended, e.StepSucceeded, e.StepRetryScheduled, e.StepFailed})
SUCCEEDED, FAILED, CANCELLED, RETRIED = "succeeded", "failed", "cancelled", "retried"


class CommitCounts:
    """Counts what a commit changed."""

    def __init__(self, tallies: dict[str, Tally], spreads: dict[str, Spread], *, tenants: int) -> None:
        self._accepted = tallies[c.JOBS_ACCEPTED.name]
        self._finished = tallies[c.JOBS_FINISHED.name]
        self._tenant_jobs = tallies[c.TENANT_JOBS.name]
        self._retries = tallies[c.RETRIES.name]
        self._timeouts = tallies[c.TIMEOUTS.name]
        self._replies = tallies[c.REPLIES.name]
        self._events = tallies[c.EVENTS.name]
        self._job_seconds = spreads[c.JOB_SECONDS.name]
        self._step_seconds = spreads[c.STEP_SECONDS.name]
        self._dispatch_lag = spreads[c.DISPATCH_LAG.name]
        self._ack_lag = spreads[c.ACK_LAG.name]
        self._tenants = tenants
        self._tenant = Cap(tenants)
        self._request_type = Cap(100)
        self._step_type = Cap(100)
        self._decision: Sequence[e.Event] = ()
        self._handlers: dict[type[e.Event], tuple[tuple[str], _Handler | None]] = {}
        self._known: dict[type[e.Event], _Handler] = {
            e.JobAccepted: self._on_accepted,
            e.DirectivePublished: self._on_published,
            e.DirectiveRequeued: self._on_requeued,
            e.StepAcknowledged: self._on_acknowledged,
            e.LeaseExtended: self._on_heartbeat,
            e.StepSucceeded: self._on_step_succeeded,
            e.StepRetryScheduled: self._on_retry,
            e.StepFailed: self._on_step_failed,
            e.JobSucceeded: self._on_job_succeeded,
            e.JobFailed: self._on_job_failed,
            e.JobCancelled: self._on_job_cancelled,
            e.ReplyRefused: self._on_refused,
        }

    def observe(self, changes: Iterable[Change]) -> None:
        """Count every event of these commits."""
        handlers = self._handlers
        counts = self._events.counts
        for job, events in changes:
            self._decision = events
            for event in events:
                cls = type(event)
                entry = handlers.get(cls)
                if entry is None:
                    entry = handlers[cls] = ((e.kind(event),), self._known.get(cls))
                label, handler = entry
                counts[label] = counts.get(label, 0) + 1
                if handler is not None:
                    handler(job, event)

    def _type_of(self, job: Job, step: Step | None) -> str:
        if step is None:
            return "unknown"
        return self._step_type(job.order.protocol.steps[step.index].step_type)

    def _finish(self, job: Job, at: int, outcome: str) -> None:
        labels = (self._request_type(job.order.protocol.request_type), outcome)
        self._finished.add(labels)
        self._job_seconds.observe(labels, (at - job.order.accepted_at) / 1000)
        if self._tenants:
            self._tenant_jobs.add((self._tenant(job.order.tenant_id), outcome))

    def _end_attempt(self, job: Job, event: e.StepEvent, outcome: str) -> str:
        step = job.step(event.step_id)
        step_type = self._type_of(job, step)
        attempt = step.attempt if step else None
        if attempt is not None and attempt.attempt_no == event.attempt_no:
            self._step_seconds.observe((step_type, outcome), (event.at - attempt.created_at) / 1000)
        return step_type

    def _lost(self, error: Fault) -> None:
        clock = CLOCKS.get(error)
        if clock is not None:
            self._timeouts.add((clock,))

    def _on_accepted(self, job: Job, _event: e.JobAccepted) -> None:
        self._accepted.add((self._request_type(job.order.protocol.request_type),))
        if self._tenants:
            self._tenant_jobs.add((self._tenant(job.order.tenant_id), "accepted"))

    def _on_published(self, job: Job, event: e.DirectivePublished) -> None:
        step = job.step(event.step_id)
        if step and step.attempt and step.attempt.attempt_no == event.attempt_no:
            self._dispatch_lag.observe((), (event.at - step.attempt.created_at) / 1000)

    def _on_requeued(self, job: Job, event: e.DirectiveRequeued) -> None:
        if event.error is not None:
            self._retries.add((self._type_of(job, job.step(event.step_id)), "publish"))

    def _on_acknowledged(self, job: Job, event: e.StepAcknowledged) -> None:
        if not self._implied(event):
            self._replies.add(("ACK", "accepted"))
        step = job.step(event.step_id)
        if (
            step
            and step.attempt
            and step.attempt.attempt_no == event.attempt_no
            and step.attempt.published_at
        ):
            self._ack_lag.observe((self._type_of(job, step),), (event.at - step.attempt.published_at) / 1000)

    def _implied(self, event: e.StepAcknowledged) -> bool:
        after = event.seq - self._decision[0].seq + 1
        return after < len(self._decision) and type(self._decision[after]) in _IMPLY_ACK

    def _on_heartbeat(self, _job: Job, _event: e.LeaseExtended) -> None:
        self._replies.add(("HEARTBEAT", "accepted"))

    def _on_step_succeeded(self, job: Job, event: e.StepSucceeded) -> None:
        self._replies.add(("RESULT", "accepted"))
        self._end_attempt(job, event, SUCCEEDED)

    def _on_retry(self, job: Job, event: e.StepRetryScheduled) -> None:
        self._retries.add((self._end_attempt(job, event, RETRIED), event.track))
        self._lost(event.error)
        if event.result is not None:
            self._replies.add(("RESULT", "accepted"))

    def _on_step_failed(self, job: Job, event: e.StepFailed) -> None:
        self._end_attempt(job, event, FAILED)
        self._lost(event.error)
        if event.result is not None:
            self._replies.add(("RESULT", "accepted"))

    def _on_job_succeeded(self, job: Job, event: e.JobSucceeded) -> None:
        self._finish(job, event.at, SUCCEEDED)

    def _on_job_failed(self, job: Job, event: e.JobFailed) -> None:
        self._finish(job, event.at, FAILED)
        if event.error == DEADLINE:
            self._timeouts.add(("job",))

    def _on_job_cancelled(self, job: Job, event: e.JobCancelled) -> None:
        self._finish(job, event.at, CANCELLED)

    def _on_refused(self, _job: Job, event: e.ReplyRefused) -> None:
        self._replies.add((event.reply, event.verdict))
