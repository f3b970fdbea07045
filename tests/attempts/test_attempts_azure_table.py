from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count

import pytest
from azure.data.tables.aio import TableClient

from lucius.sdk.attempts.azure_table import AzureTableAttempts
from lucius.sdk.serving.ports import Attempts
from lucius.testing.attempts import AttemptsHarness, AttemptsSuite
from lucius.testing.parts import Azurite

tables = count(1)


class TestAzureTableAttempts(AttemptsSuite):
    """Attempts in an Azure table, over the real client, keep every promise of the port."""

    @pytest.fixture
    async def harness(self, azurite: Azurite) -> AsyncIterator[AttemptsHarness]:
        """A table of its own."""
        name = f"attempts{next(tables)}"

        async def another() -> Attempts:
            return AzureTableAttempts(TableClient.from_connection_string(azurite.connection_string, name))

        harness = AttemptsHarness(attempts=await another(), another=another)
        yield harness
        await harness.attempts.close()
