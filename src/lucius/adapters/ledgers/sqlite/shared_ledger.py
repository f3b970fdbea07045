"""The ledger port on a SQLite file that several processes of one machine share.

What is asked waits in a queue (`shared_queue`). When it is this process's turn (`shared_turns`) a
transaction begins, and only inside it, with everybody else locked out, are jobs read and judges asked, in
the order of asking (`shared_desk`); the batch is staged, committed by a thread, then listeners and callers
hear of it. Each judge runs at most once, on the event loop; waiting for other processes and for the disk
is the thread's, so the event loop waits for neither.

Who has waited `bound` seconds for a turn is told LEDGER_BUSY: nothing was judged or written, it may try
again, and the ledger lives on. A commit that fails is final, as in the exclusive ledger. A process that is
killed loses what was not committed and nothing else; its turn and its lock go with it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lucius.adapters.ledgers.sqlite import files
from lucius.adapters.ledgers.sqlite.reader import Reader
from lucius.adapters.ledgers.sqlite.shared_census import CensusTaker
from lucius.adapters.ledgers.sqlite.shared_desk import Desk
from lucius.adapters.ledgers.sqlite.shared_opening import join
from lucius.adapters.ledgers.sqlite.shared_queue import Queue
from lucius.adapters.ledgers.sqlite.shared_slots import counted
from lucius.ports.ledger import LedgerCapabilities

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from lucius.adapters.ledgers.sqlite.batch import Statement
    from lucius.core.events import Event
    from lucius.core.job import Job
    from lucius.ports.ledger import (
        Census,
        Change,
        Claim,
        DeadLetter,
        JobQuery,
        Judge,
        Listener,
        Opened,
        Opener,
        OutboxRow,
        Usage,
    )

#: Seconds that a change may wait for its turn.
BOUND = 5.0
#: Seconds between two looks for commits of other processes.
LOOK = 0.05


class SharedSqliteLedger:
    """See the module docstring for how it works and how it fails."""

    def __init__(
        self,
        path: str,
        *,
        clock: Callable[[], int],
        on_failure: Callable[[BaseException], None] | None = None,
        observe: Callable[[float], None] | None = None,
        bound: float = BOUND,
    ) -> None:
        """`observe` is told how many seconds each commit took; `bound`: seconds to wait for a turn."""
        joined = join(path, bound=bound)
        self._lock, self._connection, self.schema_versions = joined.lock, joined.connection, joined.versions
        try:
            self._reading = files.open_reader(path)
        except BaseException:
            for part in (joined.connection, joined.turn, joined.lock):
                part.close()
            raise
        self.reader = Reader(self._reading)
        self._census = CensusTaker(path, asyncio.get_running_loop())
        self._desk = Desk(self._connection, clock)
        self._queue = Queue(joined, self._desk, bound=bound, on_failure=on_failure, observe=observe)

    @property
    def capabilities(self) -> LedgerCapabilities:
        """Durable, and open to several processes."""
        return LedgerCapabilities(durable=True, shared=True)

    @property
    def failure(self) -> BaseException | None:
        """Why this ledger no longer accepts anything, if so."""
        return self._queue.failure

    def create(self, claim: Claim, opener: Opener) -> Awaitable[Opened]:
        """Make a job, or find the one that has the key."""
        return self._queue.ask(lambda batch: self._desk.create(batch, claim, opener))

    def change(self, job_id: str, judge: Judge, *, patient: bool = False) -> Awaitable[Change | None]:
        """Decide when it is our turn, answer when durable."""
        return self._queue.ask(lambda batch: self._desk.change(batch, job_id, judge), patient=patient)

    def execute(self, statements: Sequence[Statement]) -> Awaitable[None]:
        """Run plain statements in the next transaction (webhook log)."""
        return self._queue.ask(lambda batch: batch.raw.extend(statements))

    def usage(self, tenant_id: str) -> Usage:
        """What a tenant, and everybody together, holds by what is committed."""
        return counted(self.reader.query, tenant_id)

    def on_commit(self, listener: Listener) -> None:
        """Hear of every durable batch of this process."""
        self._queue.listeners.append(listener)

    def on_foreign_commit(self, listener: Callable[[], None]) -> None:
        """Hear that another process has committed something; `watch` must run."""
        self._queue.foreign.append(listener)

    async def watch(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Look for commits of other processes until the ledger is closed."""
        while self._queue.open:
            self._queue.look()
            await sleep(LOOK)

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
        """Counts of what is not over, from the rows."""
        return await self._census.take(now, tenants)

    async def purge(self, before: int, limit: int) -> int:
        """Forget what has been over for long enough."""
        gone: int = await self._queue.ask(lambda batch: self._desk.purge(batch, before, limit))
        return gone

    async def close(self) -> None:
        """Take nothing more, write what was taken, then let go of the file."""
        await self._queue.close()
        self._census.close()
        self._reading.close()
        self._connection.close()
        self._lock.close()
