"""Look at runs and wallets."""

from __future__ import annotations

from lucius.errors import NotFound
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.wallet import Wallet
from lucius.lifebook.ports.store import RunPage, RunStore

MAX_PAGE = 200


class Look:
    """Reads; changes nothing."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    async def run(self, job_id: str) -> Run:
        """One run; raises `NotFound`."""
        found = await self._store.get(job_id)
        if found is None:
            raise NotFound(f"There is no run {job_id}.")
        return found

    async def runs(self, workspace_id: str, *, limit: int = 50, cursor: str | None = None) -> RunPage:
        """The runs of a workspace, newest first."""
        return await self._store.runs(workspace_id, limit=min(max(limit, 1), MAX_PAGE), cursor=cursor)

    async def wallet(self, workspace_id: str) -> Wallet:
        """The credits of a workspace."""
        return await self._store.wallet(workspace_id) or Wallet(workspace_id=workspace_id)

    async def deposit(self, workspace_id: str, amount: int, *, deposit_id: str) -> Wallet:
        """Add hundredths of credits, once for each id."""
        return await self._store.deposit(workspace_id, amount, deposit_id=deposit_id)
