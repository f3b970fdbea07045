from __future__ import annotations

import shutil
import tempfile
from itertools import count, cycle
from pathlib import Path
from typing import Any, cast

from hypothesis import settings

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
        self.tokens = count()
        return self.open()

    def open(self) -> Bus:
        """One more on the same file."""
        return SqliteBus(
            Path(self.directory) / "bus.db",
            topics=self.TOPICS,
            clock=self.now,
            new_token=lambda: str(next(self.tokens)),
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


# Every publish waits for the disk: a third of the usual examples takes as long as others' whole.
FEWER = settings(max_examples=max(settings().max_examples // 3, 1))

TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = FEWER


class Turns:
    """Two buses on one file as one: every call goes to the other one than the call before."""

    def __init__(self, *buses: Bus) -> None:
        self._buses = buses
        self._next = cycle(buses)

    def __getattr__(self, verb: str) -> Any:
        return getattr(next(self._next), verb)

    async def close(self) -> None:
        """Both."""
        for bus in self._buses:
            await bus.close()


class SharedMachine(SqliteMachine):
    """Two processes' worth of buses: neither may remember anything that the file does not say."""

    async def new_bus(self) -> Bus:
        """Both on the same file."""
        return cast("Bus", Turns(await super().new_bus(), self.open()))


TestSharedMachine = SharedMachine.TestCase
TestSharedMachine.settings = FEWER
