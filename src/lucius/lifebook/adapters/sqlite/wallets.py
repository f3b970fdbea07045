"""Rows of wallets and deposits, inside somebody's transaction."""

from __future__ import annotations

import apsw

from lucius.errors import Refused
from lucius.lifebook.core import wallet as rules
from lucius.lifebook.core.wallet import Settlement, Wallet

_READ = "SELECT available, reserved, spent, deposited FROM wallets WHERE workspace_id = ?"
_WRITE = "INSERT OR REPLACE INTO wallets VALUES (?, ?, ?, ?, ?)"


def find(connection: apsw.Connection, workspace_id: str) -> Wallet | None:
    """The wallet of a workspace, if it has one."""
    row = connection.execute(_READ, (workspace_id,)).fetchone()
    if row is None:
        return None
    available, reserved, spent, deposited = row
    return Wallet(
        workspace_id=workspace_id, available=available, reserved=reserved, spent=spent, deposited=deposited
    )


def reserve(connection: apsw.Connection, workspace_id: str, amount: int, *, opening: int) -> None:
    """Hold an amount; raises `InsufficientCreditsError`. A first wallet has the opening credits."""
    found = find(connection, workspace_id)
    if found is None:
        found = rules.deposit(Wallet(workspace_id=workspace_id), opening)
    _write(connection, rules.reserve(found, amount))


def settle(connection: apsw.Connection, settlement: Settlement) -> None:
    """Let go of what a run held, less what it spent."""
    found = find(connection, settlement.workspace_id) or Wallet(workspace_id=settlement.workspace_id)
    _write(connection, rules.settle(found, settlement))


def deposit(connection: apsw.Connection, workspace_id: str, amount: int, deposit_id: str) -> Wallet:
    """Add an amount, once for each id of the workspace; the wallet as it is then."""
    found = find(connection, workspace_id) or Wallet(workspace_id=workspace_id)
    row = connection.execute(
        "SELECT amount FROM deposits WHERE workspace_id = ? AND deposit_id = ?", (workspace_id, deposit_id)
    ).fetchone()
    if row is None:
        connection.execute("INSERT INTO deposits VALUES (?, ?, ?)", (workspace_id, deposit_id, amount))
        found = rules.deposit(found, amount)
        _write(connection, found)
    elif row[0] != amount:
        raise Refused(
            f"The deposit {deposit_id[:64]} brought {rules.shown(row[0])} credits to {workspace_id}, "
            f"not {rules.shown(amount)}; use a new id for another deposit",
            code="DEPOSIT_REUSED",
        )
    return found


def _write(connection: apsw.Connection, wallet: Wallet) -> None:
    connection.execute(
        _WRITE, (wallet.workspace_id, wallet.available, wallet.reserved, wallet.spent, wallet.deposited)
    )
