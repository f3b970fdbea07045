"""Clients that ask again until they are answered: create (few keys, two bodies), cancel, retry, redrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lucius.errors import Invalid, LuciusError, NotFound, Refused, Unavailable
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.core.wallet import InsufficientCreditsError
from lucius.lifebook.usecases.create import RunRequest
from lucius.testing.lifebook.simulation_plan import HEAL, Plan
from lucius.testing.lifebook.simulation_world import Life, World
from lucius.testing.simulation.loop import nap

WORKSPACE = "acme"


class Clients:
    """Everybody outside."""

    def __init__(self, world: World, plan: Plan, front: Callable[[], Life | None]) -> None:
        self._world = world
        self._plan = plan
        self._front = front
        self._watch = world.watch
        self._accepted: dict[str, Run] = {}
        self.busy = 0
        self.redriven: set[str] = set()

    def start(self) -> None:
        """Draw who comes when."""
        draw, loop = self._plan.random, self._world.loop
        for number in range(self._plan.runs):
            for _ in range(draw.choice((1, 1, 2))):
                loop.start(self._create(f"key-{draw.choice((number, 0))}"))
        for _ in range(self._plan.cancels):
            loop.start(self._cancel())
        for _ in range(self._plan.retries):
            loop.start(self._retry())
        if self._plan.peeks:
            loop.start(self._peek(self._plan.peeks))

    async def _create(self, key: str) -> None:
        draw = self._plan.random
        given = {"page": draw.choice((1, 1, 1, 2))}
        flow = f"flow-{1 + hash_of(key) % 4}"
        request = RunRequest(workspace_id=WORKSPACE, user_id="ada", workflow_id=flow, input=given, key=key)
        self.busy += 1
        await nap(draw.uniform(0, HEAL * 0.8) * draw.random())
        made = await self._asked(lambda life: life.create.create(request))
        self.busy -= 1
        if isinstance(made, Invalid | InsufficientCreditsError):
            return
        run: Run = made.run
        known = self._watch.runs.get(run.job_id) or self._watch.forgotten.get(run.job_id)
        self._watch.promise(known is not None, "S9", run.job_id, "accepted, and not in the store")
        self._watch.promise(run.input == given, "S8", run.job_id, f"{key} for {given} is {run.input}")
        self._accepted[run.job_id] = run

    async def _cancel(self) -> None:
        run = await self._some()
        if run is None:
            return
        self._watch.cancels.add(run.job_id)
        self.busy += 1
        answer = await self._asked(lambda life: life.control.cancel(run))
        self.busy -= 1
        now = self._watch.runs.get(run.job_id) or self._watch.forgotten.get(run.job_id)
        if now is not None and not isinstance(answer, NotFound):
            won = now.status is Status.CANCELED
            lost = isinstance(answer, Refused) and now.terminal
            self._watch.promise(won or lost, "D3", run.job_id, f"asked to cancel, {now.status}: {answer!r}")

    async def _retry(self) -> None:
        run = await self._some()
        now = None if run is None else self._watch.runs.get(run.job_id)
        if now is None or not now.terminal:
            return
        self.busy += 1
        if now.status is Status.DEAD:
            self.redriven.add(now.job_id)
            made = await self._asked(lambda life: life.letters.redrive(now.job_id, user_id="ops"))
        else:
            made = await self._asked(lambda life: life.control.retry(now, user_id="ops"))
        self.busy -= 1
        if not isinstance(made, LuciusError):
            fresh = made.run.retry_of == now.job_id and made.run.job_id != now.job_id
            self._watch.promise(fresh, "A9", now.job_id, "a retry is not a run of its own")

    async def _peek(self, times: int) -> None:
        queue = self._world.work
        for _ in range(times):
            await nap(self._plan.random.uniform(0, 2 * HEAL / times))
            for delivery in await queue.receive(9, wait_seconds=0, hidden_seconds=9):
                await queue.hide(delivery, 0)

    async def _some(self) -> Run | None:
        draw = self._plan.random
        await nap(draw.uniform(0, HEAL))
        runs = list(self._accepted.values())
        return draw.choice(runs) if runs else None

    async def _asked(self, ask: Callable[[Life], Any]) -> Any:
        """The answer, or the refusal; an answer that does not come is asked for again."""
        while True:
            life = self._front()
            try:
                if life is not None:
                    return await life.ask(ask(life), seconds=5.0)
            except Unavailable:
                pass
            except LuciusError as error:
                return error
            await nap(self._plan.random.uniform(0.2, 2.0))

    def finish(self) -> None:
        """What was accepted is there, or was there until its time was over."""
        for job_id in self._accepted:
            there = job_id in self._watch.runs or job_id in self._watch.forgotten
            self._watch.promise(there, "S9", job_id, "accepted, and lost")


def hash_of(key: str) -> int:
    """The same in every process."""
    return sum(key.encode())
