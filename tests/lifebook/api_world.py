"""A whole Lucius in memory that takes lifebook runs and executes none, and shorthand for its callers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from lucius.lifebook.core.commands import Bury
from lucius.lifebook.core.decide import Decision
from lucius.lifebook.core.run import Run, envelope_of
from lucius.lifebook.workflows import Registry, Step, Workflow
from lucius.runtime.building.lifebook_backends import Backend
from lucius.testing.lifebook.runs import decided, step_done, taken
from tests.api.world import World, world

JOBS = "/v1/lifebook/jobs"
WORKSPACES = "/v1/lifebook/workspaces"
LETTERS = "/v1/lifebook/dead-letters"
REQUEST = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "three"}


def _never(_context: object) -> None:
    raise AssertionError("nobody executes runs here")


registry = Registry(
    [
        Workflow("three", tuple(Step(f"step-{at}", _never, 125 * at) for at in (1, 2, 3)), 4),
        Workflow("example-four-steps", (Step("one-will-do", _never),)),
        Workflow("costly", (Step("only", _never, 10**9),)),
    ]
)


class RunsWorld:
    """One Lucius, seen by those who ask it for runs."""

    def __init__(self, api: World) -> None:
        self.api = api

    @property
    def backend(self) -> Backend:
        """Where the runs are kept."""
        lifebook = self.api.lucius.lifebook
        assert lifebook is not None
        return lifebook.backend

    async def create(self, headers: dict | None = None, **changes: Any) -> httpx2.Response:
        """The answer to a request for a run."""
        return await self.api.post(JOBS, REQUEST | changes, headers)

    async def made(self, **changes: Any) -> str:
        """The id of a new run."""
        answer = await self.create(**changes)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["job_id"])

    async def shown(self, job_id: str, headers: dict | None = None) -> dict[str, Any]:
        """A run as it is shown."""
        answer = await self.api.get(f"{JOBS}/{job_id}", headers)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def wallet(self, workspace_id: str = "acme") -> dict[str, float]:
        """The credits of a workspace."""
        answer = await self.api.get(f"{WORKSPACES}/{workspace_id}/wallet")
        assert answer.status_code == 200, answer.text
        return {name: amount for name, amount in answer.json().items() if name != "workspace_id"}

    async def stored(self, job_id: str) -> Run:
        """A run as it is stored."""
        run = await self.backend.store.get(job_id)
        assert run is not None
        return run

    async def write(self, run: Run, decision: Decision) -> Run:
        """Store what was decided."""
        await self.backend.store.commit(run, decision)
        return decision.run

    async def complete(self, job_id: str) -> None:
        """Some worker takes the run to its end."""
        run = await self.stored(job_id)
        run = await self.write(run, taken(run))
        while not run.terminal:
            run = await self.write(run, step_done(run))

    async def bury(self, job_id: str) -> None:
        """The run is dead, and its message among the dead letters."""
        run = await self.stored(job_id)
        await self.write(run, decided(run, Bury(receives=8)))
        await self.backend.dead.send(envelope_of(run), send_no=run.sends)


@asynccontextmanager
async def runs_world(**settings: Any) -> AsyncIterator[RunsWorld]:
    """A running Lucius that takes runs of the workflows above."""
    chosen = {"lifebook_workflows": "tests.lifebook.api_world:registry"} | settings
    async with world(**chosen) as api:
        yield RunsWorld(api)
