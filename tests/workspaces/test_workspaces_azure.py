from __future__ import annotations

from uuid import uuid4

import obstore
import pytest

from lucius.sdk.serving.outcomes import Final, Retryable
from lucius.sdk.workspaces import Patience, Stores
from lucius.sdk.workspaces.places import place_of
from lucius.testing.parts import ACCOUNT, Azurite
from lucius.testing.processes import free_port
from lucius.testing.workspaces import Ground, WorkspaceSuite


@pytest.fixture(scope="module")
def container(azurite: Azurite) -> str:
    """A container of this module's own."""
    name = f"workspaces-{uuid4().hex}"
    azurite.create_container(name)
    return name


@pytest.fixture
def ground(azurite: Azurite, container: str) -> Ground:
    """A new folder in the container."""
    return Ground(stores=Stores(azurite.environment()), uri=f"az://{container}/{uuid4().hex}")


class TestAzureWorkspace(WorkspaceSuite):
    """Azure Blob keeps the promises."""


async def test_a_blob_has_its_content_type(ground: Ground) -> None:
    """A browser that opens the blob is told what it is, small or large."""
    for data in (b"small", b"large" * 2_000_000):
        written = await ground.workspace().write("page.html", data)
        place = place_of(written.uri)
        blob = await obstore.get_async(ground.stores.store(place), place.key)
        assert blob.attributes["Content-Type"] == "text/html"


async def test_a_connection_string_opens_the_account(azurite: Azurite, ground: Ground) -> None:
    """The variable that Azure's own tools read is enough."""
    written = await ground.workspace().write("a.txt", b"content")
    stores = Stores({"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string})
    assert await stores.source(written.ref()).read() == b"content"


async def test_a_container_can_be_named_with_its_account(ground: Ground, container: str) -> None:
    """`abfss://container@account…` is the same place as `az://container`."""
    written = await ground.workspace().write("a.txt", b"content")
    place = f"abfss://{container}@{ACCOUNT}.dfs.core.windows.net"
    uri = written.uri.replace(f"az://{container}", place)
    assert await ground.stores.source({"uri": uri}).read() == b"content"


async def test_a_wrong_key_is_forbidden(azurite: Azurite, ground: Ground) -> None:
    """Reading without the right is final; writing waits for the operator."""
    written = await ground.workspace().write("a.txt", b"content")
    stores = Stores(azurite.environment() | {"AZURE_STORAGE_ACCOUNT_KEY": "d3Jvbmc="})
    with pytest.raises(Final) as reading:
        await stores.source(written.ref()).read()
    with pytest.raises(Retryable) as writing:
        await stores.workspace(ground.uri, step_type="OCR", attempt_no=1).write("a.txt", b"")
    assert (reading.value.code, writing.value.code) == ("INPUT_FORBIDDEN", "WORKSPACE_FORBIDDEN")
    assert "d3Jvbmc" not in str(reading.value)


async def test_a_missing_container_is_told(azurite: Azurite) -> None:
    """There is nothing to read in it, and nowhere to write."""
    stores = Stores(azurite.environment())
    with pytest.raises(Final) as reading:
        await stores.source({"uri": "az://nobody-made-it/a.txt"}).read()
    with pytest.raises(Retryable) as writing:
        await stores.workspace("az://nobody-made-it/x", step_type="OCR", attempt_no=1).write("a.txt", b"")
    assert (reading.value.code, writing.value.code) == ("INPUT_NOT_FOUND", "WORKSPACE_NOT_FOUND")


async def test_a_store_that_is_away_is_tried_again(azurite: Azurite) -> None:
    """Nobody listening is a retryable failure, for reading and for writing."""
    away = f"http://127.0.0.1:{free_port()}/{ACCOUNT}"
    stores = Stores(azurite.environment() | {"AZURE_STORAGE_ENDPOINT": away}, patience=Patience(retries=0))
    with pytest.raises(Retryable) as reading:
        await stores.source({"uri": "az://documents/a.txt"}).read()
    with pytest.raises(Retryable) as writing:
        await stores.workspace("az://documents/x", step_type="OCR", attempt_no=1).write("a.txt", b"")
    assert (reading.value.code, writing.value.code) == ("STORE_UNAVAILABLE", "STORE_UNAVAILABLE")
    assert str(reading.value).endswith("az://documents/a.txt could not be read: the store did not answer.")
