from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from lucius.adapters.buses.sqlite import SqliteBus
from lucius.testing.buses import BusHarness, BusSuite, new_harness
from lucius.testing.jobs import Hand

TOPICS = tuple(f"global-bus-p{lane}" for lane in range(16))


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[BusHarness]:
    """A SQLite bus whose time is moved by hand."""
    clock = Hand()
    bus = SqliteBus(
        tmp_path / "bus.db",
        topics=TOPICS,
        clock=clock,
        new_token=lambda: uuid4().hex,
        lock_seconds=30,
        max_deliveries=3,
        max_messages=5000,
    )

    async def advance(seconds: float) -> None:
        clock.now += int(seconds * 1000)

    yield new_harness(bus, topics=TOPICS, lock_seconds=30, max_deliveries=3, advance=advance)
    await bus.close()


class TestSqliteBus(BusSuite):
    """The SQLite bus keeps every promise of the port."""
