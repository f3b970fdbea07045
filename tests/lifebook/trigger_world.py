"""Runs and triggers on SQLite in memory, with a clock that tests turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from lucius.errors import Unavailable
from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteQueue, SqliteRuns, SqliteTriggers
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Run
from lucius.lifebook.ports.store import Created
from lucius.lifebook.ports.triggers import Schedule
from lucius.lifebook.triggers.desk import Triggers
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.create import Create, RunRequest
from lucius.lifebook.workflows import Registry, Step, Workflow

MINUTE = 60_000
NOON = 1_769_515_200_000
"""2026-01-27T12:00:00Z, a Tuesday."""
OPENING = 1_000


def _never(_context: object) -> None:
    raise AssertionError("nobody executes runs here")


class Turnable:
    """A creation that tests can stop: away, or killed before or after it."""

    def __init__(self, create: Create) -> None:
        self._create = create
        self.away = False
        self.asked: list[RunRequest] = []

    async def create(self, request: RunRequest) -> Created:
        """As the real one, unless told otherwise."""
        self.asked.append(request)
        if self.away:
            raise Unavailable("the store is away")
        return await self._create.create(request)


class TriggerWorld:
    """Everything triggers need."""

    def __init__(self, file: LifebookFile) -> None:
        self.now = NOON
        self.runs = SqliteRuns(file)
        self.store = SqliteTriggers(file)
        self.queue = SqliteQueue(file, "work", dead="dead", sleep=asyncio.sleep, new_id=new_id)
        self.registry = Registry(
            [
                Workflow("report", (Step("only", _never, 1),)),
                Workflow("costly", (Step("only", _never, OPENING + 1),)),
            ]
        )
        policy = Policy()
        changes = Changes(self.runs, policy=policy, clock=self.clock)
        self.create = Create(
            self.runs,
            self.queue,
            changes,
            self.registry,
            policy=policy,
            clock=self.clock,
            new_id=new_id,
            opening=OPENING,
        )
        self.turnable = Turnable(self.create)
        self.triggers = Triggers(
            self.store, self.create, self.registry, clock=self.clock, new_id=new_id, token_bytes=_bytes
        )

    def clock(self) -> int:
        """Milliseconds since the epoch."""
        return self.now

    async def schedule(self, cron: str = "* * * * *", **changes: Any) -> Schedule:
        """A new schedule."""
        asked = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "report", "given": {}} | changes
        return await self.triggers.make_schedule(cron=cron, **asked)

    async def made(self, workspace_id: str = "acme") -> Sequence[Run]:
        """The runs of a workspace, oldest first."""
        page = await self.runs.runs(workspace_id, limit=200)
        found = [await self.runs.get(one.job_id) for one in reversed(page.runs)]
        return [run for run in found if run is not None]

    async def keys(self, workspace_id: str = "acme") -> set[str]:
        """What names the runs of a workspace; each once."""
        keys = [run.idempotency_key for run in await self.made(workspace_id)]
        assert len(keys) == len(set(keys))
        return set(keys)


def new_id() -> str:
    """A random id."""
    return str(uuid4())


def _bytes(count: int) -> bytes:
    return b"".join(uuid4().bytes for _ in range(-(-count // 16)))[:count]


@asynccontextmanager
async def trigger_world() -> AsyncIterator[TriggerWorld]:
    """A world of its own."""
    made: list[TriggerWorld] = []
    file = LifebookFile(":memory:", clock=lambda: made[0].now if made else NOON)
    made.append(TriggerWorld(file))
    try:
        yield made[0]
    finally:
        await file.close()
