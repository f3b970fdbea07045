"""`/readyz` says whether lifebook runs are served, and sends nobody away because they are not."""

from __future__ import annotations

import asyncio

from lucius.errors import Unavailable
from lucius.runtime.lifebook_pulse import LifebookPulse
from tests.lifebook.api_world import JOBS, REQUEST, RunsWorld, runs_world


async def _component(world: RunsWorld) -> tuple[int, str]:
    answer = await world.api.get("/readyz")
    return answer.status_code, str(answer.json()["components"]["lifebook"])


async def test_a_lifebook_that_is_away_keeps_the_jobs_api_in_rotation() -> None:
    """Away, it is named with the reason and jobs are still taken; back, it is `ok` again."""
    async with runs_world() as world:
        store = world.backend.store
        lookup, pulse = store.get, LifebookPulse(world.backend, world.api.lucius.state, patience=0.05)
        assert await _component(world) == (200, "ok")

        async def away(_job_id: str) -> None:
            raise Unavailable("the disk is full", code="LIFEBOOK_UNAVAILABLE")

        async def silent(_job_id: str) -> None:
            await asyncio.Event().wait()

        for method, told in ((away, "(LIFEBOOK_UNAVAILABLE): the disk is full"), (silent, "within 0.05 s")):
            store.get = method  # type: ignore[assignment]
            await pulse.run_once()
            status, said = await _component(world)
            assert status == 200
            assert said.startswith("missed: the store")
            assert told in said
        assert await world.api.submit()
        store.get = lookup  # type: ignore[method-assign]
        await pulse.run_once()
        assert await _component(world) == (200, "ok")


async def test_where_runs_are_off_nothing_is_said_of_them() -> None:
    """A Lucius without lifebook runs has no such component."""
    async with runs_world(lifebook_backend="off") as world:
        answer = await world.api.get("/readyz")
        assert "lifebook" not in answer.json()["components"]
        assert (await world.api.post(JOBS, REQUEST)).status_code == 503
