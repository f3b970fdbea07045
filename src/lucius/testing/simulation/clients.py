"""People: they submit, lose the answer and submit again, pause, resume, cancel, retry."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, cast

from lucius.core import commands as cmd
from lucius.core.admission import Limits
from lucius.core.decide import Verdict
from lucius.core.states import JobState
from lucius.errors import Saturated, Unavailable
from lucius.security.principal import ANONYMOUS
from lucius.testing.jobs import START, claim, job_id, order
from lucius.testing.simulation.life import GoneError
from lucius.testing.simulation.loop import nap
from lucius.testing.simulation.plan import HEAL
from lucius.usecases.control import Control

if TYPE_CHECKING:
    from lucius.core.protocol import Protocol
    from lucius.ports.schematics import Schematics
    from lucius.testing.simulation.life import Life
    from lucius.testing.simulation.schedule import World

TENANTS = ("acme", "globex")


class OneLimit:
    """As much of the schematics as a retry needs: the same limits for everybody."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def current(self) -> OneLimit:
        """The catalogue: this."""
        return self

    def limits(self, _: str) -> Limits:
        """The limits of a tenant."""
        return self._limits


class Clients:
    """All of them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._plan = world.plan
        self._limits = Limits(tenant_jobs=world.plan.limit)
        self._ids = 0
        self.open = 0
        """Submissions that have not been answered yet."""

    def start(self) -> None:
        """Everything they will do."""
        draw, spawn = self._plan.random, self._world.loop.start
        for number in range(self._plan.jobs):
            steps, tenant = self._plan.recipe(), draw.choice(TENANTS)
            early = draw.uniform(0.0, 2.0)
            start = START + int(draw.uniform(0, 6_000)) if draw.random() < 0.2 else None
            # Now and then the same command is sent by two at once.
            for _ in range(2 if draw.random() < 0.3 else 1):
                self.open += 1
                spawn(self._submit(f"key-{number}", tenant, steps, early, start))
        for _ in range(self._plan.controls):
            spawn(self._control(draw.uniform(0.0, draw.choice((4.0, HEAL)))))

    async def _submit(
        self, key: str, tenant: str, steps: Protocol, after: float, not_before: int | None
    ) -> None:
        await nap(after)
        while True:
            life = self._world.life
            if life is None:
                await nap(0.3)
                continue
            wanted = order(
                tenant=tenant,
                steps=steps,
                job_id=self._new_id(),
                accepted_at=life.clock(),
                not_before=not_before,
                idempotency_hash=key,
            )
            asked = claim(wanted, key, explicit=True)
            try:
                opened = await life.call(lambda engine: engine.open(wanted, asked, self._limits))  # noqa: B023
            except (GoneError, Unavailable):
                await nap(0.3)
            except Saturated:
                await nap(1.0)
            else:
                self._world.watch.accepted(key, opened.job.job_id)
                self.open -= 1
                return

    async def _control(self, after: float) -> None:
        await nap(after)
        draw, watch, life = self._plan.random, self._world.watch, self._world.life
        known = sorted(watch.jobs)
        if not known or life is None:
            return
        wanted = draw.choice(known)
        if watch.jobs[wanted].state in (JobState.FAILED_FINAL, JobState.CANCELLED):
            await self._retry(life, wanted)
            return
        command = draw.choice((cmd.Pause(), cmd.Pause(), cmd.Resume(), cmd.Resume(), cmd.Cancel()))
        if isinstance(command, cmd.Cancel):
            command = cmd.Cancel(force=draw.random() < 0.3)
        try:
            answer = await life.call(lambda engine: engine.control(wanted, command, self._limits))
        except (GoneError, Saturated, Unavailable):
            return
        if isinstance(command, cmd.Cancel) and answer.verdict is Verdict.ACCEPTED:
            watch.cancelled.add(wanted)

    async def _retry(self, life: Life, wanted: str) -> None:
        """Run a job again that did not end well, and ask for it twice."""
        control = Control(
            life.engine,
            life.ledger,
            cast("Schematics", OneLimit(self._limits)),
            clock=life.clock,
            new_id=self._new_id,
        )
        with contextlib.suppress(GoneError, Saturated, Unavailable):
            first, again = [await life.call(lambda _: control.retry(wanted, ANONYMOUS)) for _ in range(2)]
            if first.job.job_id != again.job.job_id and not self._world.watch.jobs[first.job.job_id].terminal:
                self._world.watch.broken.append(f"S8 {wanted} is retried by two jobs")

    def _new_id(self) -> str:
        self._ids += 1
        return job_id(number=self._ids)

    async def resume_all(self) -> None:
        """Whatever is paused goes on."""
        while True:
            life = self._world.life
            jobs = self._world.watch.jobs.values()
            paused = [job.job_id for job in jobs if job.state in (JobState.PAUSED, JobState.PAUSING)]
            for wanted in paused if life is not None else ():
                try:
                    await life.call(lambda engine: engine.control(wanted, cmd.Resume(), self._limits))  # type: ignore[union-attr]  # noqa: B023
                except (GoneError, Saturated, Unavailable):
                    break
            await nap(2.0)
