"""Files dropped into a bucket: S3's `ObjectCreated` notifications become runs, each object version once.

Objects lie under `<prefix>/<workspace>/<workflow>/<name>`; the name may have slashes of its own. The key of a
run is the bucket, the object's key, and its version, or its ETag where the bucket keeps no versions. S3 tells
some events twice, which makes no second run. What cannot become a run is logged and left where it is; while
the store is away `on_drop` raises, and whoever called it (a Lambda) is called again with the whole event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

import msgspec
import structlog

from lucius.errors import LuciusError, Unavailable
from lucius.lifebook.core.keys import KeySpace
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.ports.store import Created
from lucius.lifebook.triggers.file_drop import USER, WORKSPACE
from lucius.lifebook.triggers.places import IGNORED
from lucius.lifebook.usecases.create import Create, RunRequest

_log = structlog.get_logger("lucius.lifebook")


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """An object that becomes no run."""

    bucket: str
    key: str
    reason: str


def drops_of(event: Mapping[str, Any], *, prefix: str = "") -> list[RunRequest | Unfit]:
    """What is asked for by the objects of a notification; events of other kinds ask for nothing."""
    return [_drop(*found, prefix=prefix) for found in _objects(event)]


async def on_drop(event: Mapping[str, Any], create: Create, *, prefix: str = "") -> list[Created]:
    """The runs of the objects of a notification, made now or before; raises `Unavailable`."""
    made = []
    for drop in drops_of(event, prefix=prefix):
        if isinstance(drop, Unfit):
            _log.warning("a dropped object was refused", bucket=drop.bucket, key=drop.key, reason=drop.reason)
            continue
        try:
            made.append(await create.create(drop))
        except Unavailable:
            raise
        except LuciusError as error:
            _log.warning("a dropped object was refused", key=drop.key, code=error.code, reason=error.message)
    return made


def _objects(event: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for record in event.get("Records", ()):
        if str(record.get("eventName", "")).removeprefix("s3:").startswith("ObjectCreated:"):
            yield record["s3"]["bucket"]["name"], record["s3"]["object"]


def _drop(bucket: str, told: Mapping[str, Any], *, prefix: str) -> RunRequest | Unfit:
    key = unquote_plus(told["key"])
    start = prefix.strip("/") + "/" if prefix.strip("/") else ""
    parts = key.removeprefix(start).split("/", 2)
    name = parts[-1].rpartition("/")[2]
    if not key.startswith(start) or len(parts) != 3 or not all(parts):  # noqa: PLR2004 - as the docstring has it
        return Unfit(bucket=bucket, key=key, reason=f"it is not at {start}<workspace>/<workflow>/<name>")
    if not name or name.startswith(".") or name.endswith(IGNORED):
        return Unfit(bucket=bucket, key=key, reason="it is a folder, hidden, or still on its way")
    if not WORKSPACE.fullmatch(parts[0]):
        return Unfit(bucket=bucket, key=key, reason=f"{parts[0][:64]!r} is not the name of a workspace")
    version = told.get("versionId")
    # Buckets whose versioning is suspended call every version `null`.
    edition = version if version not in {None, "", "null"} else told.get("eTag", "")
    return RunRequest(
        workspace_id=parts[0],
        user_id=USER,
        workflow_id=parts[1],
        trigger_type=TriggerType.FILE_DROP,
        input={
            "file": f"s3://{bucket}/{key}",
            "name": name,
            "bytes": told.get("size", 0),
            "edition": edition,
        },
        key=f"file_drop:{bucket}/{key}:{edition}",
        space=KeySpace.FILE_DROP,
    )
