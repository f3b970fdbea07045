"""The ledger port on SQLite."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucius.adapters.ledgers.sqlite import files
from lucius.adapters.ledgers.sqlite.batch import Batch
from lucius.adapters.ledgers.sqlite.purge import purge_statements
from lucius.adapters.ledgers.sqlite.reader import Reader
from lucius.adapters.ledgers.sqlite.schema import migrate
from lucius.adapters.ledgers.sqlite.tally import Tally
from lucius.adapters.ledgers.sqlite.writer import Committer, commit, stage, unwritten
from lucius.core.states import JobState
from lucius.errors import Unavailable
from lucius.ports.ledger import Census, Change, LedgerCapabilities, Opened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from lucius.adapters.ledgers.sqlite.batch import Statement
    from lucius.core.events import Event
    from lucius.core.job import Job
    from lucius.ports.ledger import Claim, DeadLetter, JobQuery, Judge, Listener, Opener, OutboxRow, Usage

#: Jobs kept decoded between their changes.
CACHE = 20_000
#: Seconds that a change nobody waits for may wait for company.
PATIENCE = 0.005
#: Turns of the event loop that a batch waits for company: one commit sets free what the next one writes.
QUIET_TURNS = 3
MAX_TURNS = 12


class SqliteLedger:
    """See the package docstring for how it works and how it fails."""

    def __init__(
        self,
        path: str,
        *,
        clock: Callable[[], int],
        on_failure: Callable[[BaseException], None] | None = None,
        observe: Callable[[float], None] | None = None,
    ) -> None:
        """`observe` is told how many seconds each commit took."""
        self._path = path
        self._clock = clock
        self._on_failure = on_failure
        self._observe = observe
        self._started = 0.0
        self._memory = path == ":memory:"
        self._lock = None if self._memory else files.lock(Path(path))
        try:
            self._connection = files.open_writer(path)
            self.schema_versions = migrate(self._connection)
            self._reading = self._connection if self._memory else files.open_reader(path)
        except BaseException:
            self._let_go()
            raise
        self.reader = Reader(self._reading)
        self._loop = asyncio.get_running_loop()
        self._committer = None if self._memory else Committer(self._connection, self._loop)
        self._listeners: list[Listener] = []
        self._cache: OrderedDict[str, Job] = OrderedDict()
        self._filling = Batch()
        self._writing: Batch | None = None
        self._scheduled = False
        self._hurry = False
        self._later: asyncio.TimerHandle | None = None
        self._failure: BaseException | None = None
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.tally = Tally(*self.reader.open_counts())

    @property
    def capabilities(self) -> LedgerCapabilities:
        """Durable when it has a file; one process at a time."""
        return LedgerCapabilities(durable=not self._memory, shared=False)

    @property
    def failure(self) -> BaseException | None:
        """Why this ledger no longer accepts anything, if so."""
        return self._failure

    def create(self, claim: Claim, opener: Opener) -> Awaitable[Opened]:
        """Make a job, or find the one that has the key."""
        self._refuse_if_failed()
        owner = self._owner(claim)
        if owner is not None:
            return self._answer(Opened(job=owner, duplicate=True))
        change = opener(self.tally.usage(claim.tenant_id))
        job = change.decision.job
        self._filling.open(claim, change)
        self.tally.move(None, job)
        return self._answer(Opened(job=job, duplicate=False))

    def change(self, job_id: str, judge: Judge, *, patient: bool = False) -> Awaitable[Change | None]:
        """Decide now, answer when durable."""
        self._refuse_if_failed()
        job = self._newest(job_id)
        if job is None:
            return self._answer(None)
        change = judge(job, self.tally.usage(job.order.tenant_id))
        if change.decision.events:
            self._filling.add(job, change)
            self.tally.move(job, change.decision.job)
        return self._answer(change, patient=patient)

    def execute(self, statements: Sequence[Statement]) -> Awaitable[None]:
        """Run plain statements in the next transaction (webhook log, retention)."""
        self._refuse_if_failed()
        self._filling.raw.extend(statements)
        return self._answer(None)

    def usage(self, tenant_id: str) -> Usage:
        """What a tenant, and everybody together, holds now."""
        return self.tally.usage(tenant_id)

    def on_commit(self, listener: Listener) -> None:
        """Hear of every durable batch."""
        self._listeners.append(listener)

    async def job(self, job_id: str) -> Job | None:
        """The job as committed."""
        return self.reader.job(job_id)

    async def jobs(self, query: JobQuery) -> list[Job]:
        """Newest first."""
        return self.reader.jobs(query)

    async def events(self, job_id: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """In their order."""
        return self.reader.events(job_id, after, limit)

    async def outbox(self, job_ids: Sequence[str]) -> list[OutboxRow]:
        """Directives of current attempts."""
        return self.reader.outbox(job_ids)

    async def open_attempts(self, *, after: str = "", limit: int = 500) -> list[str]:
        """Jobs that are not over, by id."""
        return self.reader.open_jobs(after, limit)

    async def due(self, now: int, limit: int) -> list[str]:
        """Jobs whose time has come."""
        return self.reader.due(now, limit)

    async def dead_letters(self, query: JobQuery) -> list[DeadLetter]:
        """What failed for good."""
        return self.reader.dead_letters(query)

    async def census(self, now: int, tenants: frozenset[str] | None = None) -> Census:
        """Counts of what is not over."""
        by_state: dict[str, int] = {}
        for (tenant, state), count in self.tally.by_state.items():
            if tenants is None or tenant in tenants:
                by_state[state] = by_state.get(state, 0) + count
        due, lag = self.reader.due_count(now)
        dead = self.reader.dead_letter_count()
        return Census(
            by_state=by_state,
            at_work=dict(self.tally.at_work),
            unsent=self.tally.unsent,
            due=due,
            dead_letters=dead,
            due_lag_ms=lag,
        )

    async def purge(self, before: int, limit: int) -> int:
        """Forget what has been over for long enough."""
        statements, ids = purge_statements(self.reader, before, limit)
        if ids:
            self._refuse_if_failed()
            self._filling.purged.update(ids)  # from here on nobody finds them, so no late reply revives one
            await self.execute(statements)
        return len(ids)

    async def close(self) -> None:
        """Take nothing more, write what was taken, then let go of the file."""
        self._closing = True
        await self._idle.wait()
        if self._committer is not None:
            self._committer.close()
        self._reading.close()
        self._connection.close()
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()

    # -- the batch that fills, and the one being written -----------------------------------------

    def _newest(self, job_id: str) -> Job | None:
        """The last decided state of a job: decided but not yet durable counts, nobody has seen it."""
        writing = self._writing
        if job_id in self._filling.purged or (writing is not None and job_id in writing.purged):
            return None
        job = self._filling.jobs.get(job_id)
        if job is None and writing is not None:
            job = writing.jobs.get(job_id)
        if job is None:
            job = self._cache.get(job_id)
        return job if job is not None else self.reader.job(job_id)

    def _owner(self, claim: Claim) -> Job | None:
        key = (claim.tenant_id, claim.key)
        for batch in (self._filling, self._writing):
            if batch is not None and key in batch.claims:
                return self._still_claimed(claim, batch.claims[key], None)
        found = self.reader.claim(*key)
        return self._still_claimed(claim, *found) if found else None

    def _still_claimed(self, claim: Claim, job_id: str, expires_at: int | None) -> Job | None:
        job = self._newest(job_id)
        expired = expires_at is not None and self._clock() >= expires_at
        if job is None or expired:
            return None
        released = claim.release_on_failure and job.terminal and job.state is not JobState.SUCCEEDED
        return None if released else job

    def _answer(self, value: Any, *, patient: bool = False) -> asyncio.Future[Any]:
        """A future that is done when everything decided so far is durable."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._filling.waiting.append((future, value))
        self._idle.clear()
        if patient:
            if self._later is None:
                self._later = self._loop.call_later(PATIENCE, self._flush_if_idle)
        else:
            self._hurry = True
            if self._writing is None:
                self._flush_soon()
        return future

    def _flush_soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._gather, len(self._filling.waiting), 0, MAX_TURNS)

    def _gather(self, seen: int, quiet: int, turns: int) -> None:
        """Let what is on its way join: flush when the loop has brought nothing new for some turns."""
        now = len(self._filling.waiting)
        quiet = quiet + 1 if now == seen else 0
        if quiet < QUIET_TURNS and turns:
            self._loop.call_soon(self._gather, now, quiet, turns - 1)
        else:
            self._flush_if_idle()

    def _flush_if_idle(self) -> None:
        self._scheduled = False
        if self._failure is not None:
            return
        if self._writing is None:
            self._flush()
        else:
            self._hurry = True

    def _flush(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._hurry = False
        batch, self._filling = self._filling, Batch()
        self._writing = batch
        self._started = self._loop.time()
        try:
            statements = batch.statements()
        except Exception as error:  # noqa: BLE001 - nothing was written; waiting for ever would be worse
            self._committed(unwritten(error))
            return
        if not statements:
            self._committed(None)
            return
        failure = stage(self._connection, statements)
        if failure is not None:
            self._committed(failure)
        elif self._committer is not None:
            self._committer.commit(self._committed)
        else:
            self._committed(commit(self._connection))

    def _committed(self, failure: BaseException | None) -> None:
        batch, self._writing = self._writing, None
        if batch is None:
            return
        if failure is not None:
            self._fail(batch, failure)
            return
        for job_id, job in batch.jobs.items():
            self._remember(job_id, job)
        try:
            if batch.changes:
                if self._observe is not None:
                    self._observe(self._loop.time() - self._started)
                for listener in self._listeners:
                    listener(batch.changes)
        finally:  # what is durable is answered, whatever a listener makes of it
            for future, value in batch.waiting:
                if not future.done():
                    future.set_result(value)
            if self._hurry:
                self._flush_soon()
            elif not self._filling.waiting:
                self._idle.set()

    def _remember(self, job_id: str, job: Job) -> None:
        if job.terminal:
            self._cache.pop(job_id, None)
            return
        self._cache[job_id] = job
        self._cache.move_to_end(job_id)
        if len(self._cache) > CACHE:
            self._cache.popitem(last=False)

    def _fail(self, batch: Batch, failure: BaseException) -> None:
        self._failure = failure
        for future, _ in batch.waiting + self._filling.waiting:
            if not future.done():
                future.set_exception(failure)
                future.exception()  # a caller that has gone away needs no warning
        self._filling = Batch()
        self._idle.set()
        if self._on_failure is not None:
            self._on_failure(failure)

    def _refuse_if_failed(self) -> None:
        if self._failure is not None:
            message = f"the ledger has stopped: {self._failure}"
            raise Unavailable(message, code="LEDGER_FAILED")
        if self._closing:
            raise Unavailable("the ledger is closed", code="LEDGER_CLOSED")
