"""Events that wait to be told: the item `event#<job_id>`, in the sweep index until it has been told."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lucius.lifebook.adapters.aws import ids
from lucius.lifebook.adapters.aws.listing import due_items
from lucius.lifebook.adapters.aws.names import KEY
from lucius.lifebook.adapters.aws.table import Action, ConditionError, Table, put, update
from lucius.lifebook.core.events import RunEvent
from lucius.wire.timestamps import iso

_KIND = "event"
_ALWAYS = 2**53


class Outbox:
    """The events of all runs."""

    def __init__(self, table: Table, *, new_id: Callable[[], str]) -> None:
        self._table = table
        self._new_id = new_id

    async def untold(self, limit: int) -> list[RunEvent]:
        """Those that wait, oldest first."""
        items = await due_items(self._table, _KIND, _ALWAYS, limit)
        return [msgspec.json.decode(item["event"], type=RunEvent) for item in items]

    async def claim(self, now: int, limit: int, lease: int) -> list[RunEvent]:
        """Those that wait and that nobody else has claimed: a claim moves an event back in the index."""
        mine = []
        for item in await due_items(self._table, _KIND, now, limit):
            write_id = self._new_id()
            claimed = update(
                item[KEY],
                "SET #due_at = :until, #write_id = :write_id",
                "#due_at = :seen AND attribute_exists(#sweep)",
                until=now + lease,
                seen=item["due_at"],
                write_id=write_id,
            )
            try:
                await self._table.write(claimed, write_id=write_id)
            except ConditionError:
                continue  # somebody else was quicker
            mine.append(msgspec.json.decode(item["event"], type=RunEvent))
        return mine

    async def told(self, event: RunEvent, at: int) -> None:
        """Take it out of the index, and let it go when its run goes."""
        write_id = self._new_id()
        change = (
            "SET #told_at = :told_at, #ttl_at = #keep_until, #write_id = :write_id REMOVE #sweep, #due_at"
        )
        waiting = "attribute_exists(#job_id) AND attribute_exists(#sweep)"
        noted = update(ids.event_id(event.job_id), change, waiting, told_at=iso(at), write_id=write_id)
        try:
            await self._table.write(noted, write_id=write_id)
        except ConditionError:
            return  # noted before


def leaving(event: RunEvent, keep_until: int) -> Action:
    """Leave an event to be told; it stays until then, and after that until `keep_until` (seconds)."""
    item = {
        KEY: ids.event_id(event.job_id),
        "event": msgspec.json.encode(event).decode(),
        "sweep": ids.sweep(_KIND, event.job_id),
        "due_at": event.completed_at,
        "keep_until": keep_until,
    }
    return put(item, "attribute_not_exists(#job_id)")
