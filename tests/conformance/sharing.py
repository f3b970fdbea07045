"""Two shared ledgers on one file, as two processes would hold them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from lucius.adapters.ledgers.sqlite.shared_ledger import SharedSqliteLedger
from lucius.adapters.ledgers.sqlite.verify import verify
from lucius.testing.jobs import Hand
from lucius.testing.ledgers import LedgerHarness

BRIEF, LONG = 0.1, 60.0
"""Seconds that they wait for each other: where one is to give up, and where none is."""


@dataclass(kw_only=True)
class Pair:
    """The ledgers, and a harness for each."""

    path: Path
    first: SharedSqliteLedger
    second: SharedSqliteLedger
    one: LedgerHarness
    two: LedgerHarness


@asynccontextmanager
async def shared_pair(path: Path, bound: float = LONG) -> AsyncIterator[Pair]:
    """Both are closed at the end, and the file is sound."""
    clock = Hand()
    first, second = (SharedSqliteLedger(str(path), clock=clock, bound=bound) for _ in range(2))
    one = LedgerHarness(ledger=first, clock=clock)
    two = LedgerHarness(ledger=second, clock=clock, leases=one.leases)
    yield Pair(path=path, first=first, second=second, one=one, two=two)
    for ledger in (first, second):
        await ledger.close()
    assert verify(path).findings == ()
