"""The two indexes: the runs of a workspace, newest first; what is due, of all shards, most overdue first.

Indexes lag behind the table by a moment. Lists of people live with that; what is due is read again from the
table, and decided there.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from lucius.errors import Invalid
from lucius.lifebook.adapters.aws import ids
from lucius.lifebook.adapters.aws.names import KEY, SWEEP_INDEX, WORKSPACE_INDEX
from lucius.lifebook.adapters.aws.table import Table
from lucius.lifebook.adapters.aws.values import Item, to_wire
from lucius.lifebook.core.run import Summary
from lucius.lifebook.core.states import Status, TriggerType
from lucius.lifebook.core.wallet import hundredths_of
from lucius.lifebook.ports.store import RunPage
from lucius.wire.timestamps import parse_iso


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended."""

    workspace_id: str
    created_at: str
    job_id: str


async def due_items(table: Table, kind: str, now: int, limit: int) -> list[Item]:
    """Items of a kind with `due_at <= now`, as the table has them now, most overdue first."""
    where = "#sweep = :sweep AND #due_at <= :now"
    found: list[tuple[int, str]] = []
    for shard in ids.sweeps(kind):  # one after the other: nobody is in a hurry, and nothing is left behind
        page = await table.query(SWEEP_INDEX, where, {"sweep": shard, "now": now}, Limit=limit)
        found += [(item["due_at"], item[KEY]) for item in page]
    found = sorted(found)[:limit]
    items = await table.get_all([key for _, key in found])
    current = [item for item in items.values() if "sweep" in item and item["due_at"] <= now]
    return sorted(current, key=lambda item: (item["due_at"], item[KEY]))


async def runs_of(table: Table, workspace_id: str, limit: int, cursor: str | None) -> RunPage:
    """A page of a workspace's runs."""
    start = {} if cursor is None else {"ExclusiveStartKey": _start(cursor, workspace_id)}
    items = await table.query(
        WORKSPACE_INDEX,
        "#workspace_id = :workspace_id",
        {"workspace_id": workspace_id},
        Limit=limit + 1,
        ScanIndexForward=False,
        **start,
    )
    shown = [item for item in items[:limit] if ids.is_run_id(item[KEY])]
    more = len(items) > limit
    return RunPage(runs=tuple(map(_summary, shown)), cursor=_cursor(items[limit - 1]) if more else None)


async def listed(table: Table, kind: str, workspace_id: str) -> list[Item]:
    """What is not a run, of a workspace, by id."""
    place = {"workspace_id": ids.listed_under(kind, workspace_id)}
    keys = [
        item[KEY] for item in await table.query_all(WORKSPACE_INDEX, "#workspace_id = :workspace_id", place)
    ]
    items = await table.get_all(keys)
    return [items[key] for key in sorted(items)]


def _summary(item: Item) -> Summary:
    return Summary(
        job_id=item[KEY],
        workspace_id=item["workspace_id"],
        created_at=parse_iso(item["created_at"]),
        status=Status(item["status"]),
        workflow_id=item["workflow_id"],
        trigger_type=TriggerType(item["trigger_type"]),
        credits_estimate=hundredths_of(item["credits_estimate"]),
    )


def _cursor(item: Item) -> str:
    place = _Place(item["workspace_id"], item["created_at"], item[KEY])
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode()


def _start(cursor: str, workspace_id: str) -> Item:
    try:
        place = msgspec.json.decode(base64.b64decode(cursor, altchars=b"-_", validate=True), type=_Place)
        parse_iso(place.created_at)
    except (binascii.Error, ValueError, msgspec.MsgspecError, Invalid):
        place = None
    if place is None or place.workspace_id != workspace_id or not ids.is_run_id(place.job_id):
        raise Invalid("The cursor is none that a list of this workspace gave out", code="INVALID_CURSOR")
    return to_wire({"workspace_id": workspace_id, "created_at": place.created_at, KEY: place.job_id})
