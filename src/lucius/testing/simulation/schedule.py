"""One seed, from its first submission to the end of every job."""

from __future__ import annotations

import asyncio
import warnings
import zlib
from typing import TYPE_CHECKING

import msgspec

from lucius.testing.simulation.clients import Clients
from lucius.testing.simulation.disk import Disk
from lucius.testing.simulation.life import Life
from lucius.testing.simulation.loop import VirtualLoop
from lucius.testing.simulation.plan import HEAL, PATIENCE, WELL, Plan
from lucius.testing.simulation.services import Services
from lucius.testing.simulation.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a schedule."""

    seed: int
    broken: tuple[str, ...]
    ended: tuple[str, ...]
    """The states the jobs ended in."""
    kills: int
    commits: int
    steps: int
    digest: int
    """Of every event: the same for every run of the same seed."""

    @property
    def replay(self) -> str:
        """The line that runs it again."""
        return f"python -m lucius.testing.simulation --seed {self.seed}"


class World:
    """Everything of one schedule."""

    def __init__(self, seed: int, disk: Disk) -> None:
        self.plan = Plan(seed)
        self.loop = VirtualLoop()  # type: ignore[abstract]
        self.watch = Watch(self.plan.limit)
        self.disk = disk
        self.life: Life | None = None
        self.lives = 0
        self._services = Services(self)
        self._clients = Clients(self)

    def run(self) -> Outcome:
        """Run to the end, or to the first broken promise."""
        loop, plan = self.loop, self.plan
        loop.call_soon(self._begin)
        loop.call_later(HEAL, self._heal)
        loop.call_later(HEAL + WELL, self._check_sent)
        for step in plan.kills:
            loop.alarms[step] = self._kill
        loop.run(self._over, HEAL + PATIENCE)
        self.watch.broken += loop.errors
        if self.life is None and not self.watch.broken:
            asyncio._set_running_loop(loop)  # noqa: SLF001 - one more start, to look at what is there
            self._restart()
            asyncio._set_running_loop(None)  # noqa: SLF001
        if self.life is not None and not self.watch.broken:
            self.watch.finish(self.life.ledger, kind=plan.kind)
        outcome = self._outcome()
        self._end()
        return outcome

    def _begin(self) -> None:
        self._restart()
        self.loop.start(self._services.run())
        self.loop.start(self._clients.resume_all())
        self._clients.start()

    def _over(self) -> bool:
        if self.watch.broken or self.loop.errors:
            return True
        if self.life is not None and self.life.failed:
            self._kill()
        if self.life is None or self._clients.open:
            return False
        jobs = self.watch.jobs.values()
        return len(jobs) > 0 and all(job.terminal for job in jobs)

    def _kill(self) -> None:
        if self.life is None:
            return
        self.life.kill()
        self.life = None
        self.loop.call_later(self.plan.random.uniform(0.01, 3.0), self._restart)

    def _restart(self) -> None:
        self.lives += 1
        try:
            self.life = Life(self.lives, self.loop, self.disk, self.plan, self.watch)
        except Exception as error:  # noqa: BLE001 - whatever keeps it from starting is the finding
            self.watch.broken.append(f"L5 it does not start again: {error!r}")
            self.disk.replace()

    def _heal(self) -> None:
        self.plan.healed = True

    def _check_sent(self) -> None:
        if self.life is not None:
            self.watch.check_sent(self.life.clock())

    def _outcome(self) -> Outcome:
        jobs = self.watch.jobs
        told = "".join(f"{key}{job!r}" for key, job in sorted(jobs.items()))
        return Outcome(
            seed=self.plan.seed,
            broken=tuple(self.watch.broken),
            ended=tuple(job.state.value for job in jobs.values()),
            kills=self.lives - 1,
            commits=self.watch.commits,
            steps=self.loop.steps,
            digest=zlib.crc32(told.encode()),
        )

    def _end(self) -> None:
        if self.life is not None:
            self.life.kill()
            self.life = None
        self.loop.kill(0)


def run_schedule(seed: int, disk: Disk | None = None) -> Outcome:
    """Run one seed."""
    own = disk or Disk()
    try:
        own.wipe()
        with warnings.catch_warnings():
            # A killed process awaits nothing of what it began.
            warnings.simplefilter("ignore", RuntimeWarning)
            return World(seed, own).run()
    finally:
        if disk is None:
            own.close()


def run_schedules(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Run many seeds, one after another on one disk."""
    disk = Disk()
    try:
        for seed in seeds:
            yield run_schedule(seed, disk)
    finally:
        disk.close()
