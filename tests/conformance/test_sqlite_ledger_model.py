from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.ports.ledger import Ledger
from lucius.testing.ledger_model import LedgerMachine


class FileMachine(LedgerMachine):
    """A ledger in a file, restarted at any point."""

    directory = ""

    async def new_ledger(self) -> Ledger:
        """In a directory of its own."""
        self.directory = tempfile.mkdtemp(prefix="lucius-model-")
        return SqliteLedger(str(Path(self.directory) / "ledger.db"), clock=self.clock)

    async def restarted(self, old: Ledger) -> Ledger:
        """The same file."""
        assert isinstance(old, SqliteLedger)
        await old.close()
        return SqliteLedger(str(Path(self.directory) / "ledger.db"), clock=self.clock)

    async def closed(self, old: Ledger) -> None:
        """Close and clear away."""
        assert isinstance(old, SqliteLedger)
        await old.close()
        shutil.rmtree(self.directory)


class MemoryMachine(LedgerMachine):
    """A ledger in memory."""

    async def new_ledger(self) -> Ledger:
        """Of this process."""
        return SqliteLedger(":memory:", clock=self.clock)

    async def restarted(self, old: Ledger) -> None:
        """It keeps nothing."""

    async def closed(self, old: Ledger) -> None:
        """Close."""
        assert isinstance(old, SqliteLedger)
        await old.close()


TestFileMachine = FileMachine.TestCase
TestMemoryMachine = MemoryMachine.TestCase
