from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.adapters.ledgers.sqlite.shared_ledger import SharedSqliteLedger
from lucius.ports.ledger import Ledger
from lucius.testing.ledger_model import LedgerMachine
from lucius.testing.ledgers import Hand, LedgerHarness, LedgerSuite


class TestShared(LedgerSuite):
    """A ledger that others may write keeps every promise of the port."""

    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[LedgerHarness]:
        """A shared ledger in a file of its own."""
        clock, path = Hand(), str(tmp_path / "ledger.db")

        async def restart(old: Ledger) -> Ledger:
            assert isinstance(old, SharedSqliteLedger)
            await old.close()
            return SharedSqliteLedger(path, clock=clock)

        harness = LedgerHarness(ledger=SharedSqliteLedger(path, clock=clock), clock=clock, restart=restart)
        yield harness
        assert isinstance(harness.ledger, SharedSqliteLedger)
        await harness.ledger.close()


class SharedMachine(LedgerMachine):
    """Two ledgers on one file: what would be a restart goes on with the other one, which heard of nothing."""

    directory = ""

    async def new_ledger(self) -> Ledger:
        """In a directory of its own."""
        self.directory = tempfile.mkdtemp(prefix="lucius-model-")
        path = str(Path(self.directory) / "ledger.db")
        self.pair = [SharedSqliteLedger(path, clock=self.clock) for _ in range(2)]
        return self.pair[0]

    async def restarted(self, old: Ledger) -> Ledger:
        """The other one."""
        return self.pair[1] if old is self.pair[0] else self.pair[0]

    async def closed(self, old: Ledger) -> None:
        """Close and clear away."""
        for ledger in self.pair:
            await ledger.close()
        shutil.rmtree(self.directory)


TestSharedMachine = SharedMachine.TestCase
