"""`DynamoRuns`: the store of runs in DynamoDB.

    create    one transaction: the run is absent, its key is free, the wallet covers the estimate
    commit    one conditional update; the one that ends a run is a transaction with wallet, event and key
    forget    DynamoDB does so by itself: `ttl_at`

The item `idem#…` names the run that holds an idempotency key. It gets the run's `ttl_at` when the run ends;
should it outlive its run, the next creation takes it over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog

from lucius.errors import Broken, Unavailable
from lucius.lifebook.adapters.aws import ids
from lucius.lifebook.adapters.aws.faults import CODE
from lucius.lifebook.adapters.aws.listing import due_items, runs_of
from lucius.lifebook.adapters.aws.names import KEY, TABLE
from lucius.lifebook.adapters.aws.outbox import Outbox, leaving
from lucius.lifebook.adapters.aws.table import WRITE_ID, Action, ConditionError, Table, put, update
from lucius.lifebook.adapters.aws.values import Item
from lucius.lifebook.adapters.aws.wallets import Wallets, reserving, settling, wallet_of
from lucius.lifebook.core.decide import Decision
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.wallet import Wallet, insufficient
from lucius.lifebook.item import UNWRITTEN, item_of, run_of
from lucius.lifebook.ports.store import Created, RunConflictError, RunPage

TRIES = 8
"""A creation meets at most: no wallet, a key whose run has gone, somebody who was quicker."""
_JOB, _UNIQUE, _WALLET = range(3)
_log = structlog.get_logger("lucius.lifebook")


class DynamoRuns:
    """Runs, wallets and events in one table."""

    def __init__(
        self,
        client: Any,
        *,
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
        new_id: Callable[[], str],
        table: str = TABLE,
    ) -> None:
        """`client`: of `connect`, who closes it. `new_id` makes ids of writes: unique, at most 36 long."""
        self._table = Table(client, table, sleep=sleep, chance=chance)
        self._wallets = Wallets(self._table, new_id=new_id)
        self._outbox = Outbox(self._table, new_id=new_id)
        self._new_id = new_id

    async def create(self, run: Run, *, opening: int) -> Created:
        """See `RunStore`."""
        gone: str | None = None
        for _ in range(TRIES):
            write_id = self._new_id()
            wallet = reserving(run.workspace_id, run.credits_estimate)
            try:
                await self._table.write(
                    put(_stored(run) | {WRITE_ID: write_id}, "attribute_not_exists(#job_id)"),
                    _claiming(run, gone),
                    wallet,
                    write_id=write_id,
                )
                return Created(run=run, fresh=True)
            except ConditionError as error:
                if error.failed[_UNIQUE]:
                    holder = str((error.found[_UNIQUE] or {}).get("run_id", ""))
                    found = await self.get(holder)
                    if found is not None:
                        return Created(run=found, fresh=False)
                    gone = holder
                elif error.failed[_JOB]:
                    raise Broken(f"The id {run.job_id} is taken by another run") from error
                else:
                    await self._fund(run, opening, error.found[_WALLET])
        raise Unavailable(f"The run {run.job_id} could not be created; try again", code=CODE)

    async def _fund(self, run: Run, opening: int, found: Item | None) -> None:
        """A wallet for a workspace that has none; refuse when there is one that does not cover the run."""
        if found is not None:
            raise insufficient(wallet_of(found), run.credits_estimate)
        await self._wallets.open(run.workspace_id, opening)

    async def get(self, job_id: str) -> Run | None:
        """See `RunStore`."""
        item = await self._table.get(job_id) if ids.is_run_id(job_id) else None
        return None if item is None else run_of(item)

    async def commit(self, before: Run, decision: Decision) -> None:
        """See `RunStore`."""
        write_id = self._new_id()
        ending = _ending(before, decision)
        try:
            await self._table.write(_changing(before, decision.run, write_id), *ending, write_id=write_id)
        except ConditionError as error:
            if error.failed[0]:
                text = f"The run {before.job_id} is no longer at version {before.version}"
                raise RunConflictError(text) from error
            met = ", ".join(ending[at].key for at, bad in enumerate(error.failed[1:]) if bad)
            raise Broken(f"The run {before.job_id} cannot end: {met} is not as it must be") from error

    async def runs(self, workspace_id: str, *, limit: int, cursor: str | None = None) -> RunPage:
        """See `RunStore`."""
        return await runs_of(self._table, workspace_id, limit, cursor)

    async def due(self, now: int, limit: int) -> Sequence[Run]:
        """See `RunStore`."""
        found = []
        for item in await due_items(self._table, "run", now, limit):
            try:
                found.append(run_of(item))
            except Broken as error:  # it must not hold up the others
                _log.error("a run that is due cannot be read", reason=error.message)
        return found

    async def wallet(self, workspace_id: str) -> Wallet | None:
        """See `RunStore`."""
        return await self._wallets.get(workspace_id)

    async def deposit(self, workspace_id: str, amount: int, *, deposit_id: str) -> Wallet:
        """See `RunStore`."""
        return await self._wallets.deposit(workspace_id, amount, deposit_id=deposit_id)

    async def untold(self, limit: int) -> Sequence[RunEvent]:
        """See `RunStore`."""
        return await self._outbox.untold(limit)

    async def claim_events(self, now: int, limit: int, *, lease: int) -> Sequence[RunEvent]:
        """See `RunStore`."""
        return await self._outbox.claim(now, limit, lease)

    async def told(self, event: RunEvent, at: int) -> None:
        """See `RunStore`."""
        await self._outbox.told(event, at)

    async def forget(self, now: int, limit: int) -> int:  # noqa: ARG002 - the port's
        """Nothing: DynamoDB forgets by itself."""
        return 0

    async def close(self) -> None:
        """Nothing: whoever opened the client closes it."""


def _stored(run: Run) -> Item:
    """The item of a run, in the sweep index while somebody must look at it some day."""
    item = item_of(run)
    return item if run.due_at is None else item | {"sweep": ids.sweep("run", run.job_id)}


def _claiming(run: Run, gone: str | None) -> Action:
    """Take the idempotency key, if it is free or was of a run that has gone."""
    item = {KEY: run.unique_id, "run_id": run.job_id}
    if gone is None:
        return put(item, "attribute_not_exists(#job_id)")
    return put(item, "attribute_not_exists(#job_id) OR #run_id = :gone", gone=gone)


def _changing(before: Run, after: Run, write_id: str) -> Action:
    """What differs. Attributes that others have added stay; a run that is not there is never made."""
    old, new = _stored(before), _stored(after) | {WRITE_ID: write_id}
    ours = before.version != UNWRITTEN
    known = old if ours else {KEY: before.job_id}  # of the contract's floor all else is written anew
    values = {name: value for name, value in new.items() if known.get(name) != value}
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in sorted(values))
    removed = sorted(old.keys() - new.keys())
    if removed:
        change += " REMOVE " + ", ".join(f"#{name}" for name in removed)
    if not ours:
        return update(
            before.job_id, change, "attribute_exists(#job_id) AND attribute_not_exists(#version)", **values
        )
    where = "attribute_exists(#job_id) AND #version = :before"
    return update(before.job_id, change, where, before=before.version, **values)


def _ending(before: Run, decision: Decision) -> list[Action]:
    """What is written together with the end of a run."""
    run, actions = decision.run, []
    if decision.settlement is not None:
        actions += [action for action in [settling(decision.settlement)] if action is not None]
    if decision.event is not None:
        actions.append(leaving(decision.event, run.ttl_at or 0))
    if run.ttl_at is not None and before.version != UNWRITTEN:  # who knows only the contract took no key
        item = {KEY: run.unique_id, "run_id": run.job_id, "ttl_at": run.ttl_at}
        actions.append(put(item, "attribute_not_exists(#job_id) OR #run_id = :run_id", run_id=run.job_id))
    return actions
