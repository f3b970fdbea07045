"""Schedules and hooks in the file. A schedule that is switched off has no time in its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw
import msgspec

from lucius.lifebook.adapters.sqlite.file import LifebookFile
from lucius.lifebook.ports.store import RunConflictError
from lucius.lifebook.ports.triggers import Hook, Schedule

_INSERT: Final = (
    "INSERT OR IGNORE INTO schedules (workspace_id, next_at, version, body, schedule_id)"
    " VALUES (?, ?, ?, ?, ?)"
)
_UPDATE: Final = (
    "UPDATE schedules SET workspace_id = ?, next_at = ?, version = ?, body = ?"
    " WHERE schedule_id = ? AND version = ?"
)
_DUE: Final = "SELECT body FROM schedules WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at LIMIT ?"
_encode = msgspec.json.encode
_schedule = msgspec.json.Decoder(Schedule).decode
_hook = msgspec.json.Decoder(Hook).decode


class SqliteTriggers:
    """The store of triggers; see the port."""

    def __init__(self, file: LifebookFile) -> None:
        self._file = file

    async def put_schedule(self, schedule: Schedule, *, before: int | None) -> None:
        """Write it on condition that its version is `before` (None: that there is none)."""
        next_at = schedule.next_at if schedule.enabled else None
        columns = (schedule.workspace_id, next_at, schedule.version, _encode(schedule), schedule.schedule_id)

        def work(connection: apsw.Connection) -> None:
            if before is None:
                connection.execute(_INSERT, columns)
            else:
                connection.execute(_UPDATE, (*columns, before))
            if not connection.changes():
                raise RunConflictError(f"The schedule {schedule.schedule_id} was changed by somebody else")

        await self._file.write(work)

    async def schedule(self, schedule_id: str) -> Schedule | None:
        """One schedule."""
        found = await self._bodies("SELECT body FROM schedules WHERE schedule_id = ?", schedule_id)
        return _schedule(found[0]) if found else None

    async def schedules(self, workspace_id: str) -> Sequence[Schedule]:
        """All of a workspace, by id."""
        query = "SELECT body FROM schedules WHERE workspace_id = ? ORDER BY schedule_id"
        return [_schedule(body) for body in await self._bodies(query, workspace_id)]

    async def due_schedules(self, now: int, limit: int) -> Sequence[Schedule]:
        """Enabled ones with `next_at <= now`, most overdue first."""
        return [_schedule(body) for body in await self._bodies(_DUE, now, limit)]

    async def remove_schedule(self, schedule_id: str) -> None:
        """Forget it."""
        await self._remove("DELETE FROM schedules WHERE schedule_id = ?", schedule_id)

    async def put_hook(self, hook: Hook) -> None:
        """Write a new hook."""

        def work(connection: apsw.Connection) -> None:
            values = (hook.hook_id, hook.workspace_id, _encode(hook))
            connection.execute("INSERT OR IGNORE INTO hooks VALUES (?, ?, ?)", values)
            if not connection.changes():
                raise RunConflictError(f"There is a hook {hook.hook_id} already")

        await self._file.write(work)

    async def hook(self, hook_id: str) -> Hook | None:
        """One hook."""
        found = await self._bodies("SELECT body FROM hooks WHERE hook_id = ?", hook_id)
        return _hook(found[0]) if found else None

    async def hooks(self, workspace_id: str) -> Sequence[Hook]:
        """All of a workspace, by id."""
        query = "SELECT body FROM hooks WHERE workspace_id = ? ORDER BY hook_id"
        return [_hook(body) for body in await self._bodies(query, workspace_id)]

    async def remove_hook(self, hook_id: str) -> None:
        """Forget it."""
        await self._remove("DELETE FROM hooks WHERE hook_id = ?", hook_id)

    async def close(self) -> None:
        """Nothing: the file is closed by whoever opened it."""

    async def _bodies(self, query: str, *values: str | int) -> list[bytes]:
        return await self._file.read(
            lambda connection: [body for (body,) in connection.execute(query, values)]
        )

    async def _remove(self, statement: str, name: str) -> None:
        def work(connection: apsw.Connection) -> None:
            connection.execute(statement, (name,))

        await self._file.write(work)
