"""Attempts in an Azure table: for services whose processes run on several machines. Needs lucius[azure].

State: one entity an attempt, in one of a few partitions. Its RowKey begins with `open!` until the result was
told, then with `told!`: the move is one transaction, and drops the directive with its callback token. So what
may be overdue is a short range of keys, however much is remembered. Directive and result lie compressed in
properties of their own (`packing.py`). Every change is a write over the version that was read (etag): of two
writers one wins, the other looks again.

A claim creates the open entity and then looks for a told one. If there is one, the claim was a late repeat
and is undone; who dies in between leaves a claim that `take_overdue` clears away.

What it costs: each call 2 requests, or 3 to tell; `take_overdue` and `forget` a query a partition.

How it fails: a table that is away is `Unavailable`; a directive or a result too large for a table is
`Invalid` ATTEMPT_TOO_LARGE. A lost or doubtful answer (a 503 after the write was done makes the client
report a false conflict) is settled by reading again: claims and takeovers carry the id of their call.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from azure.data.tables import TableEntity

from lucius.errors import Unavailable
from lucius.sdk.attempts.packing import SHARDS, pack, place, unpack, without
from lucius.sdk.attempts.rows import KEY, OWNED, key_fields, key_of, long, number
from lucius.sdk.attempts.table import Changed, Closable, Place, Table
from lucius.sdk.serving.ports import AttemptKey, Found, Overdue

if TYPE_CHECKING:
    from azure.data.tables.aio import TableClient

AT_ONCE: Final = 16
"""Attempts extended in parallel."""
TRIES: Final = 20
"""Somebody else may be quicker; so many times in a row they are not."""
DOUBTS: Final = 2
"""Errors in a row after which a change is given up; the client has tried several times for each."""

Judge = Callable[[TableEntity], dict[str, Any] | None]


class AzureTableAttempts:
    """`Attempts` in one table, which is made if there is none. Closes the client, and a credential given.

    `new_id` names calls; it must not repeat itself.
    """

    def __init__(
        self,
        table_client: TableClient,
        *,
        credential: Closable | None = None,
        new_id: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self._table = Table(table_client, credential)
        self._new_id = new_id
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def claim(self, key: AttemptKey, *, owner: str, until: int, now: int, directive: bytes) -> Found:
        """Begin an attempt, or learn that it was begun before."""
        where, call = _open(key), self._new_id()
        owned = {"owner": owner, "until": long(until), "claimed_at": long(now), "call": call}
        fields = key_fields(key) | pack("directive", directive) | owned
        row = await self._created(where, fields)
        if row["call"] != call:
            return Found(claimed=False, result=unpack("result", row))
        ended = await self._table.get(_told(key))
        if ended is None:
            return Found(claimed=True)
        await self._clear(where)
        return Found(claimed=False, result=unpack("result", ended))

    async def extend(self, keys: Sequence[AttemptKey], *, owner: str, until: int) -> list[bool]:
        """Say that `owner` is alive."""

        def judge(row: TableEntity) -> dict[str, Any] | None:
            return {"until": long(until)} if row["owner"] == owner else None

        async def one(key: AttemptKey) -> bool:
            async with self._gate:
                row = await self._change(_open(key), judge, OWNED)
                return row is not None and bool(row["owner"] == owner)

        single = list(dict.fromkeys(keys))
        answers = dict(zip(single, await asyncio.gather(*map(one, single)), strict=True))
        return [answers[key] for key in keys]

    async def finish(self, key: AttemptKey, *, owner: str, result: bytes) -> bytes:
        """Store the RESULT; the one that stands."""
        del owner  # whoever is first: a slow owner's result is as good as its taker's verdict
        packed = pack("result", result)
        for where in (_open(key), _told(key)):
            row = await self._change(where, lambda row: None if "result0" in row else packed)
            if row is not None:
                stands = unpack("result", row)
                return result if stands is None else stands
        return result

    async def told(self, key: AttemptKey, *, now: int) -> None:
        """Lucius has heard the result; what stays is the result."""
        where, doubts = _open(key), 0
        for _ in range(TRIES):
            row = await self._table.get(where)
            if row is None:
                return
            kept = {**without("directive", row), "told_at": long(now)}
            try:
                await self._table.move(where, _told(key), kept, row)
                return
            except Changed:
                if await self._table.get(_told(key), OWNED) is not None:
                    await self._clear(where)
            except Unavailable:
                doubts += 1
                if doubts == DOUBTS:
                    raise
        raise _given_up(where)

    async def take_overdue(self, *, owner: str, now: int, until: int, limit: int) -> list[Overdue]:
        """Take over what is overdue, the longest overdue first."""
        taken: list[Overdue] = []
        late = await self._find("open", f"until le {now}L") if limit > 0 else []
        for each in sorted(late, key=lambda row: number(row, "until")):
            if len(taken) == limit:
                break
            key = key_of(each)
            row = await self._take(_open(key), owner, now, until)
            if row is None:
                continue
            if await self._table.get(_told(key), OWNED) is not None:
                await self._clear(_open(key))
                continue
            directive = unpack("directive", row) or b""
            taken.append(Overdue(key=key, directive=directive, result=unpack("result", row)))
        return taken

    async def forget(self, *, before: int) -> int:
        """Drop what was told, or left alone, before a time."""
        old = await self._find("told", f"told_at lt {before}L") + await self._find(
            "open", f"until lt {before}L"
        )
        dropped = 0
        for row in old:
            try:
                await self._table.delete((row["PartitionKey"], row["RowKey"]), row)
            except Changed:
                continue
            dropped += 1
        return dropped

    async def close(self) -> None:
        """Let go of the connections."""
        await self._table.close()

    async def _created(self, where: Place, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write an entity that is not there yet; the one that is there now."""
        for _ in range(TRIES):
            try:
                await self._table.create(where, fields)
                return fields
            except Changed:
                row = await self._table.get(where)
                if row is not None:
                    return row
            except Unavailable:
                row = await self._table.get(where)
                if row is None:
                    raise
                return row
        raise _given_up(where)

    async def _take(self, where: Place, owner: str, now: int, until: int) -> TableEntity | None:
        """Take one over; None if somebody was quicker."""
        call = self._new_id()

        def judge(row: TableEntity) -> dict[str, Any] | None:
            if row["call"] == call or number(row, "until") > now:
                return None
            return {"owner": owner, "until": long(until), "call": call}

        row = await self._change(where, judge)
        return row if row is not None and row["call"] == call else None

    async def _change(
        self, where: Place, judge: Judge, fields: list[str] | None = None
    ) -> TableEntity | None:
        """Read, judge, write if nobody wrote meanwhile, else again; the entity as it stands, if there is one.

        `judge` gives the fields to write, or None if nothing is to be done: also when it was done by this
        very call, whose answer was lost.
        """
        doubts = 0
        for _ in range(TRIES):
            row = await self._table.get(where, fields)
            change = judge(row) if row is not None else None
            if row is None or change is None:
                return row
            try:
                await self._table.merge(where, change, row)
                row.update(change)
                return row
            except Changed:
                continue
            except Unavailable:
                doubts += 1
                if doubts == DOUBTS:
                    raise
        raise _given_up(where)

    async def _clear(self, where: Place) -> None:
        """Remove an open entity whose attempt is told; it may be gone."""
        row = await self._table.get(where, OWNED)
        if row is not None:
            with suppress(Changed):
                await self._table.delete(where, row)

    async def _find(self, state: str, condition: str) -> list[TableEntity]:
        """The entities of a state that meet a condition, without directive and result."""
        rows = f"RowKey ge '{state}!' and RowKey lt '{state}\"' and {condition}"
        filters = [f"PartitionKey eq '{shard:02x}' and {rows}" for shard in range(SHARDS)]
        found = await asyncio.gather(*(self._table.find(each, [*OWNED, *KEY]) for each in filters))
        return [row for some in found for row in some]


def _open(key: AttemptKey) -> Place:
    shard, name = place(key)
    return shard, f"open!{name}"


def _told(key: AttemptKey) -> Place:
    shard, name = place(key)
    return shard, f"told!{name}"


def _given_up(where: Place) -> Unavailable:
    message = f"The attempt {where[1]} is changed by others all the time; try again."
    return Unavailable(message, code="ATTEMPTS_BUSY")
