"""`DynamoTriggers`: schedules and hooks, in the table of the runs.

The items `schedule#<id>` and `hook#<id>` hold the whole record as JSON. The index of workspaces lists them
under `schedule#<workspace>` and `hook#<workspace>`; a schedule that is on lies in the sweep index at its
next time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from lucius.lifebook.adapters.aws import ids
from lucius.lifebook.adapters.aws.listing import due_items, listed
from lucius.lifebook.adapters.aws.names import KEY, TABLE
from lucius.lifebook.adapters.aws.table import WRITE_ID, ConditionError, Table, delete, put
from lucius.lifebook.adapters.aws.values import Item
from lucius.lifebook.ports.store import RunConflictError
from lucius.lifebook.ports.triggers import Hook, Schedule
from lucius.wire.timestamps import iso

_SCHEDULE, _HOOK = "schedule", "hook"
_RECORD = "record"


class DynamoTriggers:
    """Schedules and hooks."""

    def __init__(
        self,
        client: Any,
        *,
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
        new_id: Callable[[], str],
        table: str = TABLE,
    ) -> None:
        """As `DynamoRuns`."""
        self._table = Table(client, table, sleep=sleep, chance=chance)
        self._new_id = new_id

    async def put_schedule(self, schedule: Schedule, *, before: int | None) -> None:
        """See `TriggerStore`."""
        item = _item(ids.schedule_id(schedule.schedule_id), _SCHEDULE, schedule) | {
            "version": schedule.version
        }
        if schedule.enabled:
            item |= {"sweep": ids.sweep(_SCHEDULE, schedule.schedule_id), "due_at": schedule.next_at}
        if before is None:
            await self._put(item, "attribute_not_exists(#job_id)", {})
        else:
            await self._put(item, "#version = :before", {"before": before})

    async def schedule(self, schedule_id: str) -> Schedule | None:
        """See `TriggerStore`."""
        item = await self._table.get(ids.schedule_id(schedule_id))
        return None if item is None else _schedule(item)

    async def schedules(self, workspace_id: str) -> Sequence[Schedule]:
        """See `TriggerStore`."""
        return [_schedule(item) for item in await listed(self._table, _SCHEDULE, workspace_id)]

    async def due_schedules(self, now: int, limit: int) -> Sequence[Schedule]:
        """See `TriggerStore`."""
        return [_schedule(item) for item in await due_items(self._table, _SCHEDULE, now, limit)]

    async def remove_schedule(self, schedule_id: str) -> None:
        """See `TriggerStore`."""
        await self._table.write(delete(ids.schedule_id(schedule_id)), write_id=self._new_id())

    async def put_hook(self, hook: Hook) -> None:
        """See `TriggerStore`."""
        item = _item(ids.hook_id(hook.hook_id), _HOOK, hook)
        await self._put(item, "attribute_not_exists(#job_id)", {})

    async def hook(self, hook_id: str) -> Hook | None:
        """See `TriggerStore`."""
        item = await self._table.get(ids.hook_id(hook_id))
        return None if item is None else _hook(item)

    async def hooks(self, workspace_id: str) -> Sequence[Hook]:
        """See `TriggerStore`."""
        return [_hook(item) for item in await listed(self._table, _HOOK, workspace_id)]

    async def remove_hook(self, hook_id: str) -> None:
        """See `TriggerStore`."""
        await self._table.write(delete(ids.hook_id(hook_id)), write_id=self._new_id())

    async def close(self) -> None:
        """Nothing: whoever opened the client closes it."""

    async def _put(self, item: Item, where: str, values: dict[str, Any]) -> None:
        write_id = self._new_id()
        try:
            await self._table.write(put(item | {WRITE_ID: write_id}, where, **values), write_id=write_id)
        except ConditionError as error:
            raise RunConflictError(f"{item[KEY]} was written by somebody else; read it again") from error


def _item(key: str, kind: str, record: Schedule | Hook) -> Item:
    return {
        KEY: key,
        "workspace_id": ids.listed_under(kind, record.workspace_id),
        "created_at": iso(record.created_at),
        _RECORD: msgspec.json.encode(record).decode(),
    }


def _schedule(item: Item) -> Schedule:
    return msgspec.json.decode(item[_RECORD], type=Schedule)


def _hook(item: Item) -> Hook:
    return msgspec.json.decode(item[_RECORD], type=Hook)
