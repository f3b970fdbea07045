"""What the suite of run stores is given: an empty store, how to open it once more, and shorthand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lucius.lifebook.core.decide import Decision
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.run import Run, Summary
from lucius.lifebook.core.wallet import Wallet
from lucius.lifebook.ports.store import Created, RunStore
from lucius.testing.lifebook.runs import canceled, new_run, step_done, taken

OPENING = 100_000
"""Hundredths of a first wallet where a test does not care."""


@dataclass(slots=True, kw_only=True)
class StoreHarness:
    """An empty store and shorthand for the suite."""

    store: RunStore
    another: Callable[[], Awaitable[RunStore]]
    """Open the same store once more, as another process would; the binding closes it."""
    forgets_by_itself: bool = False
    """Records past their `ttl_at` go without `forget`, at some time: nothing can be told of when."""

    async def create(self, run: Run, *, opening: int = OPENING) -> Created:
        """Create it here."""
        return await self.store.create(run, opening=opening)

    async def open(self, *, opening: int = OPENING, **more: object) -> Run:
        """A new run, stored."""
        created = await self.create(new_run(**more), opening=opening)  # type: ignore[arg-type]
        assert created.fresh
        return created.run

    async def write(self, run: Run, decision: Decision) -> Run:
        """Commit a decision made on this run; the run after it."""
        await self.store.commit(run, decision)
        return decision.run

    async def take(self, run: Run) -> Run:
        """A worker takes the run."""
        return await self.write(run, taken(run))

    async def complete(self, run: Run, *, cost: int | None = None) -> Run:
        """The run from its first step to its end, each step for `cost` or what was planned."""
        run = await self.take(run)
        while not run.terminal:
            run = await self.write(run, step_done(run, cost=cost))
        return run

    async def cancel(self, run: Run, at: int | None = None) -> Run:
        """The run, canceled."""
        return await self.write(run, canceled(run, at))

    async def stored(self, job_id: str) -> Run:
        """The run as it is stored; it must be there."""
        found = await self.store.get(job_id)
        assert found is not None, f"no run {job_id}"
        return found

    async def wallet(self, workspace_id: str = "acme") -> Wallet:
        """The wallet of a workspace, balanced; it must be there."""
        found = await self.store.wallet(workspace_id)
        assert found is not None, f"no wallet of {workspace_id}"
        assert found.deposited == found.available + found.reserved + found.spent, found
        assert min(found.available, found.reserved, found.spent) >= 0, found
        return found

    async def events(self) -> list[RunEvent]:
        """What waits to be told."""
        return list(await self.store.untold(100))

    async def listed(self, workspace_id: str, *, limit: int) -> list[Summary]:
        """All runs of a workspace, page by page."""
        found: list[Summary] = []
        cursor: str | None = None
        for _ in range(100):
            page = await self.store.runs(workspace_id, limit=limit, cursor=cursor)
            assert len(page.runs) <= limit
            found += page.runs
            cursor = page.cursor
            if cursor is None:
                return found
        raise AssertionError("the pages of a list have no end")
