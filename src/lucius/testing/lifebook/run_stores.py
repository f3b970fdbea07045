"""What every store of runs must do.

Bind it so:

    class TestMyRuns(RunStoreSuite):
        @pytest.fixture
        async def harness(self):
            store = MyRuns(...)
            yield StoreHarness(store=store, another=..., forgets_by_itself=False)
            await store.close()

The store is empty. `another()` opens it once more, as another process would. Times are arguments of the
port, so no clock is needed.
"""

from __future__ import annotations

from lucius.testing.lifebook.store_harness import StoreHarness
from lucius.testing.lifebook.store_money import RunStoreMoney
from lucius.testing.lifebook.store_reading import RunStoreReading
from lucius.testing.lifebook.store_writing import RunStoreWriting

__all__ = ["RunStoreSuite", "StoreHarness"]


class RunStoreSuite(RunStoreWriting, RunStoreMoney, RunStoreReading):
    """The promises of the store port. Bind `harness` and inherit."""
