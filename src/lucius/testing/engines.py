"""What every engine must do.

Bind it so:

    class MyHarness(EngineHarness):
        async def sweep(self): ...       # do what is due
        async def rest(self): ...        # wait until nothing is under way
        async def restart(self): ...     # crash, and start again
        async def bus_back(self): ...    # set `bus.away` to False and let the engine notice

    class TestMyEngine(EngineSuite):
        @pytest.fixture
        async def harness(self):
            ...

The suite plays clients, people and services over a `FaultyBus`; time is a `Hand`, moved by the tests.
"""

from __future__ import annotations

from lucius.testing.engine_control import EngineControl
from lucius.testing.engine_driving import EngineDriving
from lucius.testing.engine_faults import EngineFaults
from lucius.testing.engine_harness import EngineHarness
from lucius.testing.faulty_bus import FaultyBus

__all__ = ["EngineHarness", "EngineSuite", "FaultyBus"]


class EngineSuite(EngineDriving, EngineFaults, EngineControl):
    """The promises of the engine port. Bind `harness` and inherit."""
