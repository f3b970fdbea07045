"""Credits in the table: the item `wallet#<workspace>`, in credits, and one item for each deposit."""

from __future__ import annotations

from collections.abc import Callable

from lucius.errors import Refused
from lucius.lifebook.adapters.aws import ids
from lucius.lifebook.adapters.aws.names import KEY
from lucius.lifebook.adapters.aws.table import WRITE_ID, Action, ConditionError, Table, put, update
from lucius.lifebook.adapters.aws.values import Item
from lucius.lifebook.core.wallet import PER_CREDIT, Settlement, Wallet, hundredths_of, shown
from lucius.lifebook.item import credits_of

_AMOUNTS = ("available", "reserved", "spent", "deposited")


class Wallets:
    """The credits of all workspaces."""

    def __init__(self, table: Table, *, new_id: Callable[[], str]) -> None:
        self._table = table
        self._new_id = new_id

    async def get(self, workspace_id: str) -> Wallet | None:
        """The wallet of a workspace."""
        item = await self._table.get(ids.wallet_id(workspace_id))
        return None if item is None else wallet_of(item)

    async def open(self, workspace_id: str, amount: int) -> None:
        """A first wallet with `amount`; nothing happens if there is one."""
        write_id, opened = self._new_id(), credits_of(amount)
        item = {
            KEY: ids.wallet_id(workspace_id),
            "workspace_id": workspace_id,
            "available": opened,
            "reserved": credits_of(0),
            "spent": credits_of(0),
            "deposited": opened,
            WRITE_ID: write_id,
        }
        try:
            await self._table.write(put(item, "attribute_not_exists(#job_id)"), write_id=write_id)
        except ConditionError:
            return

    async def deposit(self, workspace_id: str, amount: int, *, deposit_id: str) -> Wallet:
        """Add credits once for each id."""
        write_id = self._new_id()
        paid = {
            KEY: ids.deposit_id(workspace_id, deposit_id),
            "deposit_id": deposit_id,
            "amount": credits_of(amount),
            WRITE_ID: write_id,
        }
        change = (
            "SET #workspace_id = :workspace_id, #available = if_not_exists(#available, :zero) + :amount, "
            "#deposited = if_not_exists(#deposited, :zero) + :amount, "
            "#reserved = if_not_exists(#reserved, :zero), #spent = if_not_exists(#spent, :zero)"
        )
        added = update(
            ids.wallet_id(workspace_id),
            change,
            "",
            workspace_id=workspace_id,
            zero=0,
            amount=credits_of(amount),
        )
        try:
            await self._table.write(put(paid, "attribute_not_exists(#job_id)"), added, write_id=write_id)
        except ConditionError as error:
            found: Item = error.found[0] or paid
            before = hundredths_of(found["amount"])
            if before != amount:
                raise Refused(
                    f"The deposit {deposit_id[:64]!r} brought {shown(before)} credits before, "
                    f"not {shown(amount)}; use a new id for another deposit",
                    code="DEPOSIT_REUSED",
                ) from error
        return await self.get(workspace_id) or Wallet(workspace_id=workspace_id)


def reserving(workspace_id: str, amount: int) -> Action:
    """Hold credits, if there are as many."""
    return update(
        ids.wallet_id(workspace_id),
        "SET #available = #available - :amount, #reserved = #reserved + :amount",
        "attribute_exists(#job_id) AND #available >= :amount",
        amount=credits_of(amount),
    )


def settling(settlement: Settlement) -> Action | None:
    """Let go of what a run held, less what it spent; None: it held nothing."""
    if not settlement.released and not settlement.spent:
        return None
    return update(
        ids.wallet_id(settlement.workspace_id),
        "SET #available = #available + :free, #reserved = #reserved - :released, #spent = #spent + :spent",
        "attribute_exists(#job_id) AND #reserved >= :released",
        free=credits_of(settlement.released - settlement.spent),
        released=credits_of(settlement.released),
        spent=credits_of(settlement.spent),
    )


def wallet_of(item: Item) -> Wallet:
    """The wallet of an item."""
    # Without the bound of a single amount: sums may be larger.
    available, reserved, spent, deposited = (int(item[name] * PER_CREDIT) for name in _AMOUNTS)
    return Wallet(
        workspace_id=str(item["workspace_id"]),
        available=available,
        reserved=reserved,
        spent=spent,
        deposited=deposited,
    )
