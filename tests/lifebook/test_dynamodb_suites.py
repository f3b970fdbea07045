"""DynamoDB keeps the promises of the stores."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from lucius.lifebook.ports.store import RunStore
from lucius.lifebook.ports.triggers import TriggerStore
from lucius.testing.lifebook.run_stores import RunStoreSuite, StoreHarness
from lucius.testing.lifebook.trigger_stores import TriggerStoreSuite
from lucius.testing.ministack import Ministack, ministack
from tests.lifebook.aws_world import connected, make_table, new_names, runs_in, triggers_in


@pytest.fixture(scope="module")
def aws() -> Iterator[Ministack]:
    """One for all tests here."""
    with ministack() as server:
        yield server


class TestDynamoRuns(RunStoreSuite):
    """Runs, wallets and events."""

    @pytest.fixture
    async def harness(self, aws: Ministack) -> AsyncIterator[StoreHarness]:
        """An empty table."""
        async with connected(aws, services=["dynamodb"]) as clients:
            table = new_names().table
            await make_table(clients, table)

            async def another() -> RunStore:
                return runs_in(clients, table)

            yield StoreHarness(store=runs_in(clients, table), another=another, forgets_by_itself=True)


class TestDynamoTriggers(TriggerStoreSuite):
    """Schedules and hooks."""

    @pytest.fixture
    async def triggers(self, aws: Ministack) -> AsyncIterator[TriggerStore]:
        """An empty table."""
        async with connected(aws, services=["dynamodb"]) as clients:
            table = new_names().table
            await make_table(clients, table)
            yield triggers_in(clients, table)
