from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.ports.ledger import Ledger
from lucius.testing.ledgers import Hand, LedgerHarness, LedgerSuite


class TestSqliteFile(LedgerSuite):
    """A ledger in a file keeps every promise of the port."""

    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[LedgerHarness]:
        """A ledger in a file of its own."""
        clock, path = Hand(), str(tmp_path / "ledger.db")

        async def restart(old: Ledger) -> Ledger:
            assert isinstance(old, SqliteLedger)
            await old.close()
            return SqliteLedger(path, clock=clock)

        harness = LedgerHarness(ledger=SqliteLedger(path, clock=clock), clock=clock, restart=restart)
        yield harness
        assert isinstance(harness.ledger, SqliteLedger)
        await harness.ledger.close()


class TestSqliteMemory(LedgerSuite):
    """A ledger in memory keeps every promise but durability, and says so."""

    @pytest.fixture
    async def harness(self) -> AsyncIterator[LedgerHarness]:
        """A ledger of this process."""
        clock = Hand()
        ledger = SqliteLedger(":memory:", clock=clock)
        yield LedgerHarness(ledger=ledger, clock=clock)
        await ledger.close()
