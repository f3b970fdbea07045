from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from lucius.testing import parts
from lucius.testing.parts import Azurite

TOOLS = Path(__file__).parents[2] / "tools" / "parts"


def packages() -> dict[str, dict[str, Any]]:
    """Every package of the lock, without the project itself."""
    locked: dict[str, dict[str, Any]] = json.loads((TOOLS / "package-lock.json").read_text())["packages"]
    return {name: entry for name, entry in locked.items() if name}


def test_every_locked_part_has_a_hash_and_no_registry() -> None:
    """What gets installed is what was resolved, from whatever registry the machine is set up for."""
    assert len(packages()) > 100
    assert [name for name, entry in packages().items() if not entry["integrity"].startswith("sha512-")] == []
    assert [name for name, entry in packages().items() if "resolved" in entry] == []


def test_the_lock_is_that_of_the_named_version() -> None:
    """The version that package.json names exactly is the locked one."""
    wanted = json.loads((TOOLS / "package.json").read_text())["dependencies"]
    assert {name: packages()[f"node_modules/{name}"]["version"] for name in wanted} == wanted


async def test_azurite_keeps_tables(azurite: Azurite) -> None:
    """The clients of Azure reach its tables with the connection string."""
    from azure.data.tables.aio import TableServiceClient

    async with TableServiceClient.from_connection_string(azurite.connection_string) as service:
        table = await service.create_table("parts")
        await table.create_entity({"PartitionKey": "a", "RowKey": "b"})
        assert [entity["RowKey"] async for entity in table.list_entities()] == ["b"]


def test_a_part_ends_with_its_block() -> None:
    """After the block nobody listens any more."""
    with parts.s3() as running:
        port = running.port
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
