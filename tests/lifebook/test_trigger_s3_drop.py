"""Objects dropped into a bucket become runs, each version once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from lucius.errors import Unavailable
from lucius.lifebook.core.keys import KeySpace
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.triggers.s3_drop import Unfit, drops_of, on_drop
from lucius.lifebook.usecases.create import Create, RunRequest
from tests.lifebook.trigger_world import TriggerWorld, trigger_world


@pytest.fixture
async def world() -> AsyncIterator[TriggerWorld]:
    """Runs and triggers in memory."""
    async with trigger_world() as found:
        yield found


def told(key: str, name: str = "ObjectCreated:Put", **more: Any) -> dict[str, Any]:
    """A notification of one object, as S3 writes it."""
    about = {"key": key, "size": 9, "eTag": "d41d8", "sequencer": "0A1B"} | more
    record = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": name,
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": "drops"}, "object": about},
    }
    return {"Records": [record]}


def test_an_object_is_asked_for_by_its_version() -> None:
    """Path, name, size and version of the object are in the request; its key is decoded."""
    (drop,) = drops_of(told("in/acme/report/a+b/caf%C3%A9%2B1.pdf", versionId="v7"), prefix="/in/")
    assert drop == RunRequest(
        workspace_id="acme",
        user_id="file_drop",
        workflow_id="report",
        trigger_type=TriggerType.FILE_DROP,
        input={
            "file": "s3://drops/in/acme/report/a b/café+1.pdf",
            "name": "café+1.pdf",
            "bytes": 9,
            "edition": "v7",
        },
        key="file_drop:drops/in/acme/report/a b/café+1.pdf:v7",
        space=KeySpace.FILE_DROP,
    )


@pytest.mark.parametrize("version", [{}, {"versionId": "null"}, {"versionId": None}])
def test_without_versions_the_etag_tells_contents_apart(version: dict[str, Any]) -> None:
    """A bucket that keeps no versions, or no longer, names an object's content by its ETag."""
    (drop,) = drops_of(told("acme/report/a.pdf", **version))
    assert isinstance(drop, RunRequest)
    assert drop.key == "file_drop:drops/acme/report/a.pdf:d41d8"


@pytest.mark.parametrize(
    "key",
    [
        "elsewhere/acme/report/a",
        "in/acme/a",
        "in/acme/report/",
        "in/acme/report/folder/",
        "in//report/a",
        "in/acme//a",
        "in/Acme/report/a",
        "in/../report/a",
        "in/acme/report/.hidden",
        "in/acme/report/a.part",
        "in/acme/report/a.tmp",
    ],
)
def test_what_lies_elsewhere_becomes_nothing(key: str) -> None:
    """Objects outside the layout are named with a reason."""
    (drop,) = drops_of(told(key), prefix="in")
    assert isinstance(drop, Unfit)
    assert (drop.key, bool(drop.reason)) == (key, True)


@pytest.mark.parametrize(
    "event",
    [{}, {"Event": "s3:TestEvent"}, {"Records": []}, told("acme/report/a", "ObjectRemoved:Delete")],
)
def test_other_events_ask_for_nothing(event: dict[str, Any]) -> None:
    """Only objects that were created count."""
    assert drops_of(event) == []


async def test_an_event_told_twice_is_one_run(world: TriggerWorld) -> None:
    """S3 tells at least once; the second time the run is there. Another version is another run."""
    event = told("acme/report/a.pdf", "s3:ObjectCreated:CompleteMultipartUpload", versionId="1")
    (first,) = await on_drop(event, world.create)
    (again,) = await on_drop(event, world.create)
    assert (first.fresh, again.fresh, again.run.job_id) == (True, False, first.run.job_id)
    (newer,) = await on_drop(told("acme/report/a.pdf", versionId="2"), world.create)
    assert newer.fresh


async def test_one_bad_object_does_not_keep_the_others(world: TriggerWorld) -> None:
    """Unknown workflows, empty wallets and wrong places are logged; the rest is run."""
    keys = ("acme/none/a", "acme/costly/a", "a", "acme/report/a")
    event = {"Records": [record for key in keys for record in told(key)["Records"]]}
    assert len(await on_drop(event, world.create)) == 1
    assert await world.keys() == {"file_drop:drops/acme/report/a:d41d8"}


async def test_while_the_store_is_away_the_event_is_not_taken(world: TriggerWorld) -> None:
    """Whoever called is told, and may call again with the same event."""
    world.turnable.away = True
    with pytest.raises(Unavailable):
        await on_drop(told("acme/report/a"), cast("Create", world.turnable))
