"""The promises, looked after while a schedule runs.

After every commit: S1–S7, S10–S14, S16, S17 of the job that changed, S12 of its tenant. At every restart:
what was answered is there (S9), and rows and events agree (S13). When something is published: its bytes
never change (S10) and a stopped job is not published for the first time (S11). When a client is answered:
one job per key (S8). At the end: the whole story of every job once more.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lucius.core.events import AttemptCreated, ReplyRefused, StepAcknowledged
from lucius.core.promises import check_decision, check_directives, check_history
from lucius.core.states import ACTIVE_STEP, RUNNING_JOB, JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lucius.adapters.ledgers.sqlite import SqliteLedger
    from lucius.core.job import Job
    from lucius.core.promises import Breach
    from lucius.ports.bus import Message
    from lucius.ports.ledger import Change

_FREE = frozenset({"SUCCEEDED", "FAILED_FINAL", "CANCELLED", "PAUSED"})
_ALL_OUTBOX = "SELECT job_id, step_index, attempt_no FROM outbox"


class Row:
    """What the promises want to see of a directive."""

    def __init__(self, job: Job, step_index: int, attempt_no: int, lease_id: str) -> None:
        routing = job.order.routing
        self.step_id = job.steps[step_index].step_id
        self.attempt_no = attempt_no
        self.lease_id = lease_id
        self.topic, self.lane, self.mode = routing.topic, routing.lane, routing.mode


class Watch:
    """Remembers what was promised."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self.jobs: dict[str, Job] = {}
        self.broken: list[str] = []
        self.commits = 0
        self._bodies: dict[str, bytes] = {}
        self._sent: set[str] = set()
        self._owners: dict[str, str] = {}
        self.answered: set[str] = set()
        self.cancelled: set[str] = set()
        self._woken: set[str] = set()
        self._ledger: SqliteLedger | None = None

    def follow(self, ledger: SqliteLedger) -> None:
        """A life begins: what was answered must be there; then hear of every commit."""
        self._ledger = ledger
        stored = [job_id for (job_id,) in ledger.reader.query("SELECT job_id FROM jobs")]
        for job_id in self.answered - set(stored):
            self._note("S9", f"{job_id} was answered 202 and is gone")
        for job_id in stored:
            job = ledger.reader.job(job_id)
            known = self.jobs.get(job_id)
            assert job is not None, job_id
            if known is not None and job.version < known.version:
                self._note("S9", f"{job_id} is back at {job.version}, {known.version} was durable")
            if job != known:
                self._found(check_history(job.order, ledger.reader.events(job_id, 0, 10_000), job))
            self.jobs[job_id] = job
        for job_id in set(self.jobs) - set(stored):
            self._note("S9", f"{job_id} was committed and is gone")
        ledger.on_commit(self._committed)

    def publishing(self, messages: Sequence[Message]) -> None:
        """Somebody hands directives to the bus."""
        for message in messages:
            key = message.message_id
            body = self._bodies.setdefault(key, message.body)
            if body != message.body:
                self._note("S10", f"{key} is sent with other bytes than before")
            job = self.jobs.get(message.properties.get("job_id", ""))
            if job is None:
                self._note("S10", f"{key} is sent before its attempt is durable")
            elif message.topic != job.order.routing.topic:
                self._note("S10", f"{key} left its pinned route for {message.topic}")
            elif key not in self._sent and job.state not in RUNNING_JOB:
                self._note("S11", f"{key} is sent for the first time while its job is {job.state}")

    def published(self, messages: Sequence[Message]) -> None:
        """The bus has taken these."""
        self._sent.update(message.message_id for message in messages)

    def accepted(self, key: str, job_id: str) -> None:
        """A client was told: this is your job."""
        owner = self._owners.setdefault(key, job_id)
        if owner != job_id:
            self._note("S8", f"key {key} was answered with {owner} and with {job_id}")
        self.answered.add(job_id)

    def finish(self, ledger: SqliteLedger, *, kind: bool) -> None:
        """Everything should be over."""
        first = [job.order for job in self.jobs.values() if job.order.ancestor_id is None]
        keys = Counter(order.idempotency_hash for order in first)
        for key in (key for key, number in keys.items() if number > 1):
            self._note("S8", f"{keys[key]} jobs for {key}")
        rows: dict[str, list[tuple[int, int]]] = {}
        for job_id, step_index, attempt_no in ledger.reader.query(_ALL_OUTBOX):
            rows.setdefault(job_id, []).append((step_index, attempt_no))
        for job_id, job in self.jobs.items():
            stored, events = ledger.reader.job(job_id), ledger.reader.events(job_id, 0, 10_000)
            if stored != job:
                self._note("S13", f"{job_id} is not stored as it was committed")
                continue
            self._found(check_history(job.order, events, job))
            leases = {
                (event.step_id, event.attempt_no): event.lease_id
                for event in events
                if isinstance(event, AttemptCreated)
            }
            found = [
                Row(job, index, number, leases.get((job.steps[index].step_id, number), ""))
                for index, number in rows.get(job_id, ())
            ]
            self._found(check_directives(job.order, events, found))
            self._check_end(job, kind=kind)

    def _check_end(self, job: Job, *, kind: bool) -> None:
        if not job.terminal:
            steps = [str(step.state) for step in job.steps]
            self._note("L1", f"{job.job_id} is {job.state} for ever, steps {steps}")
        elif job.job_id in self.cancelled and job.state.value != "CANCELLED":
            self._note("D3", f"{job.job_id} was answered a cancel and ended {job.state}")
        elif job.job_id not in self.cancelled and job.state.value == "CANCELLED":
            pass  # asked for, but the answer was lost
        elif kind and job.state.value == "FAILED_FINAL":
            self._note("L7", f"{job.job_id} failed for {job.error}, though its faults were few")

    def _committed(self, changes: Sequence[Change]) -> None:
        self.commits += 1
        for change in changes:
            job = change.decision.job
            old = self.jobs.get(job.job_id)
            self._found(check_decision(old, change.decision))
            if old is not None:
                self._check_refusals(old, change)
                if old.state is JobState.PAUSED and any(
                    isinstance(event, StepAcknowledged) for event in change.decision.events
                ):
                    self._woken.add(job.job_id)
            if len(change.outbox) != len(change.decision.created):
                self._note("S10", f"{job.job_id}: an attempt without its directive")
            for row in change.outbox:
                self._bodies.setdefault(row.message_id, row.body)
            self.jobs[job.job_id] = job
        ledger = self._ledger
        if ledger is not None and not ledger._filling.changes:  # noqa: SLF001 - decided equals durable now
            self._check_slots(ledger)

    def _check_refusals(self, old: Job, change: Change) -> None:
        """The first result of the current attempt is never refused, whatever came before it."""
        for event in change.decision.events:
            if not isinstance(event, ReplyRefused) or event.reply != "RESULT" or old.terminal:
                continue
            step = old.step(event.step_id)
            if step is None or step.attempt is None or step.state not in ACTIVE_STEP:
                continue
            current = (step.attempt.attempt_no, step.attempt.lease_id) == (event.attempt_no, event.lease_id)
            if current and step.result is None:
                self._note("S6", f"{old.job_id}: the result of the current attempt is {event.verdict}")

    def check_sent(self, now: int) -> None:
        """The bus has been well for longer than five seconds: nothing that may go waits for it (L2)."""
        for job in self.jobs.values():
            for step in job.steps if job.state in RUNNING_JOB else ():
                if (
                    step.state.value == "DISPATCHING"
                    and step.attempt
                    and step.attempt.created_at < now - 5_000
                ):
                    self._note("L2", f"{job.job_id}: {step.step_id} waits for a bus that is well")

    def _check_slots(self, ledger: SqliteLedger) -> None:
        """Slots are held by jobs that are neither over nor paused, and by no others."""
        held = Counter(job.order.tenant_id for job in self.jobs.values() if job.state.value not in _FREE)
        counted = ledger.tally.tenant
        if held != counted:
            self._note("S12", f"slots are held by {dict(held)}, counted are {dict(counted)}")
        for tenant, number in held.items():
            # A reply of a paused job's step puts it back to work, and it may go on: it may overdraw.
            if self._limit is not None and number > self._limit + self._overdrawn(tenant):
                self._note("S12", f"{tenant} holds {number} slots of {self._limit}")

    def _overdrawn(self, tenant: str) -> int:
        woken = (self.jobs[job_id] for job_id in self._woken)
        return sum(job.order.tenant_id == tenant and job.state.value not in _FREE for job in woken)

    def _found(self, breaches: Sequence[Breach]) -> None:
        for breach in breaches:
            self._note(breach.promise, f"{breach.job_id}: {breach.what}")

    def _note(self, promise: str, what: str) -> None:
        self.broken.append(f"{promise} {what}")
