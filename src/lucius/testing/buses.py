"""What every bus must do.

Bind it so:

    class TestMyBus(BusSuite):
        @pytest.fixture
        async def harness(self):
            bus = MyBus(...)
            yield new_harness(bus, topics=("a", "b"), lock_seconds=5, max_deliveries=3, advance=...)
            await bus.close()

`advance(seconds)` lets that much of the bus's time pass: a turn of its clock, or real waiting.
"""

from __future__ import annotations

from lucius.testing.bus_delivery import BusDelivery
from lucius.testing.bus_harness import BusHarness, ids, new_harness, turn
from lucius.testing.bus_sharing import BusSharing

__all__ = ["BusHarness", "BusSuite", "ids", "new_harness", "turn"]


class BusSuite(BusDelivery, BusSharing):
    """The promises of the bus port. Bind `harness` and inherit."""
