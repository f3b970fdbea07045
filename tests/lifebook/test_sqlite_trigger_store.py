from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.lifebook.adapters.sqlite import SqliteTriggers
from lucius.lifebook.ports.triggers import TriggerStore
from lucius.testing.lifebook.trigger_stores import TriggerStoreSuite
from tests.lifebook.sqlite_lifebook import Hand, opened


class TestSqliteTriggers(TriggerStoreSuite):
    """The embedded store of triggers keeps the promises of its port."""

    @pytest.fixture
    async def triggers(self, tmp_path: Path) -> AsyncIterator[TriggerStore]:
        """Triggers in an empty file."""
        async with opened(tmp_path / "lifebook.db", Hand()) as once_more:
            yield SqliteTriggers(once_more())
