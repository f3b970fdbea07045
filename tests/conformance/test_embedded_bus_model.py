from __future__ import annotations

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.ports.bus import Bus
from lucius.testing.bus_machine import BusMachine


class EmbeddedMachine(BusMachine):
    """The embedded bus under any program of operations."""

    clock = 1_000_000

    async def new_bus(self) -> Bus:
        """A bus on this machine's clock."""
        return EmbeddedBus(
            topics=self.TOPICS,
            clock=self.now,
            lock_seconds=self.LOCK_MS / 1000,
            max_deliveries=self.MAX_DELIVERIES,
        )

    def now(self) -> int:
        """The machine's time."""
        return self.clock

    def pass_time(self, ms: int) -> None:
        """Only the clock moves: the bus must notice on its own."""
        self.clock += ms


TestEmbeddedMachine = EmbeddedMachine.TestCase
