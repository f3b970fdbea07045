"""What every ledger must do.

Bind it so:

    class TestMyLedger(LedgerSuite):
        @pytest.fixture
        async def harness(self):
            clock = Hand()
            harness = LedgerHarness(ledger=MyLedger(clock=clock), clock=clock, restart=...)
            yield harness
            await harness.ledger.close()

`restart(ledger)` stops a ledger and opens what it kept; None if it keeps nothing. `ledger_model`
drives a ledger against a plain model.
"""

from __future__ import annotations

from lucius.testing.jobs import Hand
from lucius.testing.ledger_harness import LedgerHarness
from lucius.testing.ledger_reading import LedgerReading
from lucius.testing.ledger_writing import LedgerWriting

__all__ = ["Hand", "LedgerHarness", "LedgerSuite"]


class LedgerSuite(LedgerWriting, LedgerReading):
    """The promises of the ledger port. Bind `harness` and inherit."""
