"""The ledger's file and its commits.

A commit takes virtual time. A kill while one is under way leaves it done or undone, by chance: nobody was
told either way. A commit may also fail, as on a full disk; then the ledger must stop.
"""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import apsw

from lucius.adapters.ledgers.sqlite import SqliteLedger, files
from lucius.adapters.ledgers.sqlite import ledger as ledger_module
from lucius.adapters.ledgers.sqlite.writer import commit
from lucius.errors import Unavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any

    from lucius.testing.simulation.plan import Plan

_MEMORY = Path("/dev/shm")  # noqa: S108 - only a faster place for a private directory
_TABLES = ("orders", "jobs", "events", "outbox", "idempotency", "dead_letters", "deliveries")


class Commits:
    """Stands in for the thread that commits."""

    def __init__(self, connection: apsw.Connection, loop: asyncio.AbstractEventLoop, plan: Plan) -> None:
        self._connection = connection
        self._loop = loop
        self._plan = plan
        self.under_way = False

    def commit(self, done: Callable[[BaseException | None], None]) -> None:
        """Commit a little later."""
        self.under_way = True
        self._loop.call_later(self._plan.latency(), self._finish, done)

    def close(self) -> None:
        """Nothing to let go of."""

    def _finish(self, done: Callable[[BaseException | None], None]) -> None:
        self.under_way = False
        if self._plan.chance(self._plan.commit_faults):
            self._connection.execute("ROLLBACK")
            done(Unavailable("the disk is full", code="LEDGER_FAILED"))
        else:
            done(commit(self._connection))


class Disk:
    """One directory with one ledger file; schedules follow one another on it."""

    def __init__(self) -> None:
        where = str(_MEMORY) if _MEMORY.is_dir() else None
        self._directory = tempfile.TemporaryDirectory(prefix="lucius-simulation-", dir=where)
        self._files = count(1)
        self._commits: Commits | None = None
        self.replace()

    def replace(self) -> None:
        """Use another file from now on: this one is still held by a start that failed."""
        self.path = str(Path(self._directory.name) / f"ledger-{next(self._files)}.db")

    def open(
        self, plan: Plan, clock: Callable[[], int], on_failure: Callable[[BaseException], None]
    ) -> SqliteLedger:
        """Open the ledger the way a process does when it starts."""

        def committer(connection: apsw.Connection, loop: asyncio.AbstractEventLoop) -> Any:
            self._commits = Commits(connection, loop, plan)
            return self._commits

        # Where the file lies was looked at once, when the directory was made; it costs a file read each time.
        with (
            patch.object(ledger_module, "Committer", committer),
            patch.object(files, "refuse_network", lambda _: None),
        ):
            return SqliteLedger(self.path, clock=clock, on_failure=on_failure)

    def let_go(self, ledger: SqliteLedger, plan: Plan) -> None:
        """What the operating system does for a killed process."""
        if self._commits is not None and self._commits.under_way and plan.random.random() < 0.5:
            commit(ledger._connection)  # noqa: SLF001 - it reached the disk, and nobody heard
        ledger.reader._connection.close()  # noqa: SLF001
        ledger._connection.close()  # noqa: SLF001
        if ledger._lock is not None:  # noqa: SLF001
            ledger._lock.close()  # noqa: SLF001

    def wipe(self) -> None:
        """Start the next schedule without the last one's jobs."""
        if not Path(self.path).exists():
            return
        connection = apsw.Connection(self.path)
        connection.execute("PRAGMA synchronous = OFF")
        with connection:
            for table in _TABLES:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants above
        connection.close()

    def close(self) -> None:
        """Remove the directory."""
        self._directory.cleanup()
