from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.lifebook.adapters.sqlite import SqliteRuns
from lucius.lifebook.ports.store import RunStore
from lucius.testing.lifebook.run_stores import RunStoreSuite, StoreHarness
from tests.lifebook.sqlite_lifebook import Hand, opened


class TestSqliteRuns(RunStoreSuite):
    """The embedded store keeps the promises of its port, in a file and in memory."""

    @pytest.fixture(params=["file", "memory"])
    async def harness(self, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreHarness]:
        """A store in an empty file."""
        path = tmp_path / "lifebook.db" if request.param == "file" else ":memory:"
        async with opened(path, Hand()) as once_more:

            async def another() -> RunStore:
                return SqliteRuns(once_more())

            yield StoreHarness(store=SqliteRuns(once_more()), another=another)
