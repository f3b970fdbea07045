from __future__ import annotations

import asyncio
import http.client
from collections.abc import AsyncIterator
from uuid import uuid4

import obstore
import pytest

from lucius.sdk.serving.outcomes import Final, Retryable
from lucius.sdk.workspaces import Patience, Stores
from lucius.sdk.workspaces.places import place_of
from lucius.testing.parts import S3
from lucius.testing.processes import free_port
from lucius.testing.workspaces import Ground, WorkspaceSuite, megabytes


@pytest.fixture(scope="module")
def bucket(s3: S3) -> str:
    """A bucket of this module's own."""
    name = f"workspaces-{uuid4().hex}"
    s3.create_bucket(name)
    return name


@pytest.fixture
def ground(s3: S3, bucket: str) -> Ground:
    """A new folder in the bucket."""
    return Ground(stores=Stores(s3.environment()), uri=f"s3://{bucket}/{uuid4().hex}")


class TestS3Workspace(WorkspaceSuite):
    """S3 keeps the promises."""


async def test_an_object_has_its_content_type(ground: Ground) -> None:
    """A browser that opens the object is told what it is, small or large."""
    for data in (b"small", b"large" * 2_000_000):
        written = await ground.workspace().write("page.html", data)
        place = place_of(written.uri)
        found = await obstore.get_async(ground.stores.store(place), place.key)
        assert found.attributes["Content-Type"] == "text/html"


async def test_an_upload_that_stops_is_aborted(s3: S3) -> None:
    """Neither an error nor a cancelled task leaves parts in the bucket that nobody sees and somebody pays."""
    name = f"aborted-{uuid4().hex}"
    s3.create_bucket(name)
    workspace = Stores(s3.environment()).workspace(f"s3://{name}/x", step_type="OCR", attempt_no=1)
    with pytest.raises(RuntimeError):
        await workspace.write("half.bin", megabytes(20, RuntimeError()))
    under_way = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        async for piece in megabytes(20):
            yield piece
        under_way.set()
        await asyncio.Event().wait()

    writing = asyncio.create_task(workspace.write("half.bin", endless()))
    await under_way.wait()
    assert "<UploadId>" in uploads(s3, name)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert "<UploadId>" not in uploads(s3, name)


def uploads(s3: S3, bucket: str) -> str:
    """The uploads that a bucket waits for."""
    connection = http.client.HTTPConnection("127.0.0.1", s3.port)
    try:
        connection.request("GET", f"/{bucket}?uploads")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


async def test_a_missing_bucket_is_told(s3: S3) -> None:
    """There is nothing to read in it, and nowhere to write."""
    stores = Stores(s3.environment())
    with pytest.raises(Final) as reading:
        await stores.source({"uri": "s3://nobody-made-it/a.txt"}).read()
    with pytest.raises(Retryable) as writing:
        await stores.workspace("s3://nobody-made-it/x", step_type="OCR", attempt_no=1).write("a.txt", b"")
    assert (reading.value.code, writing.value.code) == ("INPUT_NOT_FOUND", "WORKSPACE_NOT_FOUND")


async def test_a_store_that_is_away_is_tried_again(s3: S3) -> None:
    """Nobody listening is a retryable failure, for a small file and for a large one."""
    away = s3.environment() | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}
    stores = Stores(away, patience=Patience(retries=0))
    workspace = stores.workspace("s3://documents/x", step_type="OCR", attempt_no=1)
    for data in (b"small", b"large" * 2_000_000):
        with pytest.raises(Retryable) as writing:
            await workspace.write("a.txt", data)
        assert writing.value.code == "STORE_UNAVAILABLE"
