"""Seeded schedules of service processes against the real Lucius, both on virtual time.

    python -m tests.serving.fault_world --seed 17            replays one schedule
    python -m tests.serving.fault_world --schedules 200      runs many, and tells those that break a promise

Lucius, its ledger, bus, clients and faults are those of `lucius.testing.simulation`; in the place of the
services it makes up stand real runners, sharing one real store.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from lucius.testing.simulation.disk import Disk
from lucius.testing.simulation.plan import HEAL
from lucius.testing.simulation.schedule import World
from lucius.testing.simulation.watch import Watch
from tests.serving.fault_plan import RunnerPlan, ThreadlessLoop
from tests.serving.fault_process import Process
from tests.serving.fault_watch import RunnerWatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lucius.adapters.ledgers.sqlite import SqliteLedger
    from lucius.testing.simulation.schedule import Outcome

_MEMORY = Path("/dev/shm")  # noqa: S108 - only a faster place for a private directory


class LedgerWatch(Watch):
    """The promises of Lucius. How jobs should end is for `RunnerWatch`, which knows what the work does."""

    def finish(self, ledger: SqliteLedger, *, kind: bool) -> None:
        """Everything should be over."""
        del kind
        super().finish(ledger, kind=False)


class Fleet:
    """All service processes of a schedule; one that ended is started again."""

    def __init__(self, world: RunnerWorld) -> None:
        self._world = world
        self._started = 0
        self._places: dict[int, Process | None] = {}
        self.closing = False

    async def run(self) -> None:
        """Start them, and plan how they end."""
        plan, loop = self._world.plan, self._world.loop
        for place in range(plan.processes):
            self._start(place)
        for step in plan.service_kills:
            loop.alarms.setdefault(loop.steps + step, self._kill_one)
        for at in plan.stops:
            loop.call_later(at, self._stop_one)
        for at, seconds in plan.sleeps:
            loop.call_later(at, self._freeze_one, seconds)

    def close(self) -> None:
        """Stop all of them, for good."""
        self.closing = True
        for process in self._places.values():
            if process is not None:
                process.stop()

    def at_rest(self) -> bool:
        """Whether all of them have stopped."""
        return all(process is None or process.ended for process in self._places.values())

    def kill_all(self) -> None:
        """The schedule is over."""
        for process in self._places.values():
            if process is not None and not process.ended:
                process.kill()

    def _start(self, place: int) -> None:
        before = self._places.get(place)
        if self.closing or (before is not None and not before.ended):
            return
        self._started += 1
        process = self._places[place] = Process(self._started, place, self._world)
        process.memory.well = not self._world.loop.asleep()

    def _pick(self) -> Process | None:
        there = [one for one in self._places.values() if one is not None and not one.ended]
        return self._world.plan.random.choice(there) if there else None

    def _kill_one(self) -> None:
        if (process := self._pick()) is not None:
            process.kill()
            self._places[process.place] = None
            self._again(process.place)

    def _stop_one(self) -> None:
        if (process := self._pick()) is not None and not process.memory.stopping:
            process.stop()
            self._again(process.place)

    def _freeze_one(self, seconds: float) -> None:
        if (process := self._pick()) is not None:
            for each in self._places.values():  # it may hold the file meanwhile, and nobody else can write
                if each is not None:
                    each.memory.well = False
            self._world.loop.freeze(process.number, seconds)

    def _again(self, place: int) -> None:
        """The next process comes a while later, and once more for one that takes long to stop."""
        for seconds in (self._world.plan.random.uniform(0.05, 4.0), 30.0):
            self._world.loop.call_later(seconds, self._start, place)


class RunnerWorld(World):
    """Everything of one schedule."""

    plan: RunnerPlan
    loop: ThreadlessLoop

    def __init__(self, seed: int, disk: Disk, store: Path) -> None:
        super().__init__(seed, disk)
        self.plan = RunnerPlan(seed)
        self.loop = ThreadlessLoop(self.plan)  # type: ignore[abstract]
        self.watch = LedgerWatch(self.plan.limit)
        self._clients._plan = self.plan
        self.store = str(store)
        self.promises = RunnerWatch(self.watch.broken, self.store)
        self.fleet = Fleet(self)
        self._services = self.fleet  # type: ignore[assignment]  # the runners stand in for the made-up services

    def _over(self) -> bool:
        if self.watch.broken:
            return True
        # People go on asking for things until `HEAL`, and may have a job done again.
        quiet = not self.plan.controls or self.loop.time() > HEAL
        if not self.fleet.closing and quiet and super()._over():
            self.plan.healed = True
            self.fleet.close()
        return self.fleet.closing and self.fleet.at_rest()

    def _outcome(self) -> Outcome:
        if not self.watch.broken and not self.fleet.at_rest():
            self.watch.broken.append("R8 a process does not come to rest")
        if not self.watch.broken:
            self.promises.finish(list(self.watch.jobs.values()), self.plan)
        return super()._outcome()

    def _end(self) -> None:
        self.fleet.kill_all()
        self.promises.close()
        super()._end()


def run_schedules(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Run many seeds, one after another on one disk."""
    where = str(_MEMORY) if _MEMORY.is_dir() else None
    disk = Disk()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        with tempfile.TemporaryDirectory(prefix="lucius-runners-", dir=where) as directory:
            for seed in seeds:
                disk.wipe()
                with warnings.catch_warnings():
                    # A killed process awaits nothing of what it began.
                    warnings.simplefilter("ignore", RuntimeWarning)
                    yield RunnerWorld(seed, disk, Path(directory) / f"{seed}.db").run()
    finally:
        disk.close()
        structlog.reset_defaults()


def replay(outcome: Outcome) -> str:
    """The line that runs a schedule again."""
    return f"python -m tests.serving.fault_world --seed {outcome.seed}  # {'; '.join(outcome.broken[:2])}"


def main() -> int:
    """0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.serving.fault_world", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the schedule to run, or the first of many")
    parser.add_argument("--schedules", type=int, default=1, help="how many to run from there on")
    parser.add_argument("--first", action="store_true", help="stop at the first broken promise")
    asked = parser.parse_args()
    ran = failures = 0
    for outcome in run_schedules(range(asked.seed, asked.seed + asked.schedules)):
        ran += 1
        if outcome.broken:
            failures += 1
            sys.stdout.write(f"{replay(outcome)}\n")
            if asked.first:
                break
        elif asked.schedules == 1:
            sys.stdout.write(f"{outcome}\n")
    sys.stdout.write(f"{ran} schedules, {failures} with a broken promise\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
