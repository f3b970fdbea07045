from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.testing.engines import EngineHarness, EngineSuite
from tests.engines.outbox_world import OutboxWorld


class TestOutboxEngine(EngineSuite):
    """The outbox engine keeps every promise of the port."""

    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[EngineHarness]:
        """An engine at work on a file of its own."""
        world = OutboxWorld(tmp_path / "ledger.db")
        await world.start()
        yield world
        await world.stop()
