from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.testing.engines import EngineHarness, EngineSuite
from lucius.testing.temporal import TemporalServer
from tests.engines.temporal_world import TemporalWorld


class TestTemporalEngine(EngineSuite):
    """The temporal engine keeps every promise of the port, on a real server."""

    @pytest.fixture
    async def harness(self, tmp_path: Path, temporal: TemporalServer) -> AsyncIterator[EngineHarness]:
        """An engine at work on a file of its own."""
        world = TemporalWorld(
            tmp_path / "ledger.db", await connect(Whereabouts(address=temporal.address), lazy=False)
        )
        await world.start()
        yield world
        await world.stop()
