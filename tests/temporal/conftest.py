"""Worlds in real time, on the server of the test run or on one that asks for fresh runs early."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from unittest import mock

import pytest
from temporalio.client import Client

from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.runtime import temporal_server as starting
from lucius.testing.temporal import TemporalServer, temporal_server
from tests.temporal.world import LiveWorld


@pytest.fixture
async def client(temporal: TemporalServer) -> Client:
    """A client of the server of this test run."""
    return await connect(Whereabouts(address=temporal.address), lazy=False)


@pytest.fixture
async def world(tmp_path: Path, client: Client) -> AsyncIterator[LiveWorld]:
    """An engine at work on a file of its own."""
    made = LiveWorld(tmp_path / "ledger.db", client)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture(scope="session")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporalServer]:
    """A server that suggests a fresh run after a few events."""
    switches = {"limit.historyCount.suggestContinueAsNew": "20"}
    with (
        mock.patch.dict(starting._SWITCHES, switches),
        temporal_server(tmp_path_factory.mktemp("impatient")) as running,
    ):
        yield running


@pytest.fixture
async def brief(tmp_path: Path, impatient: TemporalServer) -> AsyncIterator[LiveWorld]:
    """An engine whose workflows go on in fresh runs."""
    made = LiveWorld(
        tmp_path / "ledger.db", await connect(Whereabouts(address=impatient.address), lazy=False)
    )
    await made.start()
    yield made
    await made.stop()
