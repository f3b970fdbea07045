from __future__ import annotations

import shutil
import tempfile
from itertools import count
from pathlib import Path

from lucius.adapters.buses.sqlite import SqliteBus
from lucius.ports.bus import Bus
from lucius.testing.bus_machine import BusMachine


class SqliteMachine(BusMachine):
    """The SQLite bus under any program of operations."""

    clock = 1_000_000
    directory = ""

    async def new_bus(self) -> Bus:
        """A bus on this machine's clock, in a directory of its own."""
        self.directory = tempfile.mkdtemp(prefix="lucius-bus-")
        tokens = count()
        return SqliteBus(
            Path(self.directory) / "bus.db",
            topics=self.TOPICS,
            clock=self.now,
            new_token=lambda: str(next(tokens)),
            lock_seconds=self.LOCK_MS / 1000,
            max_deliveries=self.MAX_DELIVERIES,
        )

    def now(self) -> int:
        """The machine's time."""
        return self.clock

    def pass_time(self, ms: int) -> None:
        """Only the clock moves: the bus must notice on its own."""
        self.clock += ms

    def teardown(self) -> None:
        """Close and clear away."""
        super().teardown()
        shutil.rmtree(self.directory)


TestSqliteMachine = SqliteMachine.TestCase
