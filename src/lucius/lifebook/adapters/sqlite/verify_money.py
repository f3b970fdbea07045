"""Whether wallets fit each other and the runs of their workspaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import apsw

from lucius.core.promises import Breach
from lucius.lifebook.core.wallet import shown

_WALLETS = "SELECT workspace_id, available, reserved, spent, deposited FROM wallets"
_DEPOSITS = "SELECT workspace_id, sum(amount) FROM deposits GROUP BY workspace_id"
_DO = "keep a copy of the file, report it, and restore the newest backup that verifies"


def wallets(
    connection: apsw.Connection, held: Mapping[str, int], spent: Mapping[str, int]
) -> Iterator[Breach]:
    """`held`: what open runs reserve; `spent`: what ended runs that are still stored have spent."""
    paid = {str(workspace): int(amount) for workspace, amount in connection.execute(_DEPOSITS)}
    seen: set[str] = set()
    for workspace, available, reserved, gone, deposited in connection.execute(_WALLETS):
        seen.add(workspace)
        if min(available, reserved, gone) < 0 or available + reserved + gone != deposited:
            yield _breach(
                workspace,
                f"{shown(available)} free, {shown(reserved)} held and {shown(gone)} spent "
                f"are not the {shown(deposited)} deposited",
            )
        if reserved != held.get(workspace, 0):
            yield _breach(
                workspace, f"holds {shown(reserved)}, its open runs reserve {shown(held.get(workspace, 0))}"
            )
        if gone < spent.get(workspace, 0):
            yield _breach(
                workspace, f"says {shown(gone)} are spent, its runs spent {shown(spent.get(workspace, 0))}"
            )
        if deposited < paid.get(workspace, 0):
            yield _breach(
                workspace,
                f"says {shown(deposited)} came in, its deposits are {shown(paid.get(workspace, 0))}",
            )
    for workspace in sorted((held.keys() | spent.keys() | paid.keys()) - seen):
        yield _breach(workspace, "is missing, and there are runs or deposits of it")


def _breach(workspace: str, what: str) -> Breach:
    return Breach(promise="WALLET", job_id="", what=f"the wallet of {workspace} {what}; {_DO}")
