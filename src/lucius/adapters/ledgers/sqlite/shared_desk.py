"""Where a shared ledger decides: inside the write transaction, on jobs as the rows have them then.

Decoded jobs and counts are kept between transactions, and believed only while SQLite says that nobody
else has committed since (`see`). A job that changes twice in one batch is judged on its newest state.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, cast

from lucius.adapters.ledgers.sqlite.purge import purge_statements
from lucius.adapters.ledgers.sqlite.reader import Reader
from lucius.adapters.ledgers.sqlite.shared_slots import LateUsage, Slots
from lucius.core.states import JobState
from lucius.ports.ledger import Opened

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from lucius.adapters.ledgers.sqlite.batch import Batch
    from lucius.core.job import Job
    from lucius.ports.ledger import Change, Claim, Judge, Opener, Usage

#: Jobs kept decoded between their changes.
CACHE = 20_000


class Desk:
    """Decisions against what the writing connection sees."""

    def __init__(self, connection: apsw.Connection, clock: Callable[[], int]) -> None:
        self._reader = Reader(connection)
        self._clock = clock
        self._slots = Slots(self._reader.query)
        self._cache: OrderedDict[str, Job] = OrderedDict()
        self._version: int | None = None

    def see(self, version: int) -> bool:
        """Whether others have committed, by SQLite's `data_version`; if so, what is kept is forgotten."""
        foreign = self._version is not None and version != self._version
        if version != self._version:
            self.forget()
            self._version = version
        return foreign

    def create(self, batch: Batch, claim: Claim, opener: Opener) -> Opened:
        """Make a job, or find the one that has the key."""
        owner = self._owner(batch, claim)
        if owner is not None:
            return Opened(job=owner, duplicate=True)
        change = opener(self._slots.usage(claim.tenant_id))
        batch.open(claim, change)
        self._slots.move(None, change.decision.job)
        return Opened(job=change.decision.job, duplicate=False)

    def change(self, batch: Batch, job_id: str, judge: Judge) -> Change | None:
        """Let the judge decide on the job as it is in this transaction."""
        job = self._newest(batch, job_id)
        if job is None:
            return None
        usage = LateUsage(lambda: self._slots.usage(job.order.tenant_id))
        try:
            change = judge(job, cast("Usage", usage))
        finally:
            usage.end()
        if change.decision.events:
            batch.add(job, change)
            self._slots.move(job, change.decision.job)
        return change

    def purge(self, batch: Batch, before: int, limit: int) -> int:
        """Forget what has been over for long enough; nobody finds it in this transaction any more."""
        statements, ids = purge_statements(self._reader, before, limit)
        gone = set(ids) - batch.purged
        if gone:
            batch.purged |= gone
            batch.raw.extend(statements)
        return len(gone)

    def settle(self, batch: Batch) -> None:
        """The batch is durable."""
        self._slots.settle()
        for job_id in batch.purged:
            self._cache.pop(job_id, None)
        for job_id, job in batch.jobs.items():
            if job.terminal:
                self._cache.pop(job_id, None)
                continue
            self._cache[job_id] = job
            self._cache.move_to_end(job_id)
            if len(self._cache) > CACHE:
                self._cache.popitem(last=False)

    def forget(self) -> None:
        """Read everything anew from here on."""
        self._slots.forget()
        self._cache.clear()

    def _newest(self, batch: Batch, job_id: str) -> Job | None:
        if job_id in batch.purged:
            return None
        job = batch.jobs.get(job_id) or self._cache.get(job_id)
        return job if job is not None else self._reader.job(job_id)

    def _owner(self, batch: Batch, claim: Claim) -> Job | None:
        taken = batch.claims.get((claim.tenant_id, claim.key))
        found = (taken, None) if taken is not None else self._reader.claim(claim.tenant_id, claim.key)
        if found is None:
            return None
        job_id, expires_at = found
        job = self._newest(batch, job_id)
        if job is None or (expires_at is not None and self._clock() >= expires_at):
            return None
        released = claim.release_on_failure and job.terminal and job.state is not JobState.SUCCEEDED
        return None if released else job
