"""Runs, wallets and waiting events in the file. A run's own row keeps its key taken: both go together.

An event is a row from the write that ended its run until it was told, also when its run is forgotten before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw
import msgspec
import structlog

from lucius.errors import Broken
from lucius.lifebook.adapters.sqlite import wallets
from lucius.lifebook.adapters.sqlite.cursors import cursor_of, place_of
from lucius.lifebook.adapters.sqlite.file import LifebookFile
from lucius.lifebook.core.decide import Decision
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.run import Run, Summary
from lucius.lifebook.core.wallet import Wallet
from lucius.lifebook.ports.store import Created, RunConflictError, RunPage

_CLAIMABLE: Final = (
    "SELECT event_id, body FROM events WHERE claimed_until <= ? ORDER BY completed_at, event_id LIMIT ?"
)
_LEAVE: Final = "INSERT INTO events (event_id, completed_at, body) VALUES (?, ?, ?)"
_INSERT: Final = (
    "INSERT INTO runs (job_id, unique_id, workspace_id, created_at, status, version, due_at, ttl_at, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE: Final = (
    "UPDATE runs SET status = ?, version = ?, due_at = ?, ttl_at = ?, body = ?"
    " WHERE job_id = ? AND version = ?"
)
_FIRST_PAGE: Final = (
    "SELECT body FROM runs WHERE workspace_id = ? ORDER BY created_at DESC, job_id DESC LIMIT ?"
)
_NEXT_PAGE: Final = (
    "SELECT body FROM runs WHERE workspace_id = ? AND (created_at, job_id) < (?, ?)"
    " ORDER BY created_at DESC, job_id DESC LIMIT ?"
)
_FORGET: Final = (
    "DELETE FROM runs WHERE id IN"
    " (SELECT id FROM runs WHERE ttl_at IS NOT NULL AND ttl_at <= ? ORDER BY ttl_at LIMIT ?)"
)
_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Run).decode
_summary = msgspec.json.Decoder(Summary).decode
_event = msgspec.json.Decoder(RunEvent).decode
_log = structlog.get_logger("lucius.lifebook")


class SqliteRuns:
    """The store of runs; see the port."""

    def __init__(self, file: LifebookFile) -> None:
        self._file = file

    async def create(self, run: Run, *, opening: int) -> Created:
        """The record, its key and its reservation together."""
        body = _encode(run)

        def work(connection: apsw.Connection) -> Created:
            row = connection.execute("SELECT body FROM runs WHERE unique_id = ?", (run.unique_id,)).fetchone()
            if row is not None:
                return Created(run=_run(row[0]), fresh=False)
            wallets.reserve(connection, run.workspace_id, run.credits_reserved, opening=opening)
            columns = (run.job_id, run.unique_id, run.workspace_id, run.created_at, run.status.value)
            connection.execute(_INSERT, (*columns, run.version, run.due_at, run.ttl_at, body))
            return Created(run=run, fresh=True)

        return await self._file.write(work)

    async def get(self, job_id: str) -> Run | None:
        """A run as it is now."""

        def work(connection: apsw.Connection) -> bytes | None:
            row = connection.execute("SELECT body FROM runs WHERE job_id = ?", (job_id,)).fetchone()
            return None if row is None else row[0]

        body = await self._file.read(work)
        return None if body is None else _run(body)

    async def commit(self, before: Run, decision: Decision) -> None:
        """Write a decision made on `before`, with its settlement and its event."""
        run, event = decision.run, decision.event
        columns = (run.status.value, run.version, run.due_at, run.ttl_at, _encode(run))

        def work(connection: apsw.Connection) -> None:
            connection.execute(_UPDATE, (*columns, before.job_id, before.version))
            if not connection.changes():
                raise RunConflictError(f"The run {before.job_id} has changed since version {before.version}")
            if decision.settlement is not None:
                wallets.settle(connection, decision.settlement)
            if event is not None:
                values = (event.event_id, event.completed_at, _encode(event))
                connection.execute(_LEAVE, values)

        await self._file.write(work)

    async def runs(self, workspace_id: str, *, limit: int, cursor: str | None = None) -> RunPage:
        """Newest first."""
        place = None if cursor is None else place_of(cursor)

        def work(connection: apsw.Connection) -> list[bytes]:
            if place is None:
                found = connection.execute(_FIRST_PAGE, (workspace_id, limit + 1))
            else:
                found = connection.execute(_NEXT_PAGE, (workspace_id, *place, limit + 1))
            return [body for (body,) in found]

        found = tuple(_summary(body) for body in await self._file.read(work))
        shown = found[:limit]
        more = len(found) > limit
        return RunPage(runs=shown, cursor=cursor_of(shown[-1].created_at, shown[-1].job_id) if more else None)

    async def due(self, now: int, limit: int) -> Sequence[Run]:
        """Open runs with `due_at <= now`, most overdue first."""
        query = "SELECT body FROM runs WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?"
        found = []
        for body in await self._bodies(query, now, limit):
            try:
                found.append(_run(body))
            except Broken as error:  # it must not hold up the others
                _log.error("a run that is due cannot be read", reason=error.message)
        return found

    async def wallet(self, workspace_id: str) -> Wallet | None:
        """The credits of a workspace."""
        return await self._file.read(lambda connection: wallets.find(connection, workspace_id))

    async def deposit(self, workspace_id: str, amount: int, *, deposit_id: str) -> Wallet:
        """Add hundredths once for each `deposit_id` of the workspace."""
        return await self._file.write(
            lambda connection: wallets.deposit(connection, workspace_id, amount, deposit_id)
        )

    async def untold(self, limit: int) -> Sequence[RunEvent]:
        """Events that were not told yet, oldest first."""
        query = "SELECT body FROM events ORDER BY completed_at, event_id LIMIT ?"
        return [_event(body) for body in await self._bodies(query, limit)]

    async def claim_events(self, now: int, limit: int, *, lease: int) -> Sequence[RunEvent]:
        """Untold events that nobody else is telling."""

        def work(connection: apsw.Connection) -> list[Any]:
            found = list(connection.execute(_CLAIMABLE, (now, limit)))
            until = [(now + lease, event_id) for event_id, _ in found]
            connection.executemany("UPDATE events SET claimed_until = ? WHERE event_id = ?", until)
            return [body for _, body in found]

        return [_event(body) for body in await self._file.write(work)]

    async def told(self, event: RunEvent, at: int) -> None:  # noqa: ARG002 - a told event is a row less
        """The event has been told."""

        def work(connection: apsw.Connection) -> None:
            connection.execute("DELETE FROM events WHERE event_id = ?", (event.event_id,))

        await self._file.write(work)

    async def forget(self, now: int, limit: int) -> int:
        """Remove runs past their `ttl_at`, and with them their keys."""

        def work(connection: apsw.Connection) -> int:
            connection.execute(_FORGET, (now // 1000, limit))
            return connection.changes()

        return await self._file.write(work)

    async def close(self) -> None:
        """Nothing: the file is closed by whoever opened it."""

    async def _bodies(self, query: str, *values: int) -> list[bytes]:
        return await self._file.read(
            lambda connection: [body for (body,) in connection.execute(query, values)]
        )


def _run(body: bytes) -> Run:
    try:
        return _decode(body)
    except msgspec.DecodeError as error:
        raise Broken(f"A run cannot be read: {error}; ask `lucius verify`", code="BROKEN_RUN") from error
