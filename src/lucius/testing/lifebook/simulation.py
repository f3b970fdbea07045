"""Seeded schedules of lifebook runs: `python -m lucius.testing.lifebook.simulation --seed N` replays one.

Several workers and keepers (sweeper, dead letters, events, retention) run on one store and one queue, in
virtual time. Calls fail before or after they were carried out, messages are lost, doubled and late. Processes
are killed between any two callbacks and start again, are cut off, fall asleep and wake too late, or are
stopped politely. Steps fail, poison, take long; clients repeat themselves, cancel and retry. The promises of
`simulation_watch` are checked after every transaction, those of `_finish` when all has healed.
"""

from __future__ import annotations

import logging
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import structlog

from lucius.lifebook.core.states import Status
from lucius.lifebook.ports.queue import Delivery
from lucius.lifebook.worker.poller import Poller
from lucius.testing.lifebook.simulation_clients import Clients
from lucius.testing.lifebook.simulation_loop import outside
from lucius.testing.lifebook.simulation_plan import HEAL, PATIENCE, POLICY, PRICE, Plan
from lucius.testing.lifebook.simulation_steps import Behaviour, Steps
from lucius.testing.lifebook.simulation_world import Life, World
from lucius.testing.simulation.command import command
from lucius.testing.simulation.loop import OWNER, nap


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a schedule."""

    seed: int
    broken: tuple[str, ...]
    ended: tuple[str, ...]
    """The statuses the runs ended in."""
    kills: int
    commits: int
    seconds: int
    """Virtual ones."""
    digest: int
    """Of all that was left: the same for every run of the same seed."""

    @property
    def replay(self) -> str:
        """The line that runs it again."""
        return f"python -m lucius.testing.lifebook.simulation --seed {self.seed}"


class Hand:
    """The worker as the poller knows it: some messages in a hurry."""

    def __init__(self, life: Life, plan: Plan) -> None:
        self._life = life
        self._plan = plan
        self.drain, self.abort = life.worker.drain, life.worker.abort

    @property
    def hindered(self) -> bool:
        """Whether the store was away."""
        return self._life.worker.hindered

    async def handle(self, delivery: Delivery) -> bool:
        """One delivery."""
        return await self._life.handle(delivery, None if self._plan.healed else self._plan.hurry)


class Schedule:
    """One seed, from its first run to the end of all of them."""

    def __init__(self, seed: int) -> None:
        self.plan = Plan(seed)
        steps = Steps(self._behaviour, PRICE)
        self.world = World(steps.registry, POLICY, self.plan, opening=self.plan.opening)
        self.watch = steps.watch = self.world.watch
        steps.deadly = self._deadly
        self.loop = self.world.loop
        self.lives: dict[str, Life] = {}
        self._pollers: dict[str, Poller] = {}
        self._kills = 0
        self._clients = Clients(self.world, self.plan, self._front)

    def run(self) -> Outcome:
        """To the end, or to the first broken promise."""
        plan, loop = self.plan, self.loop
        names = [f"worker-{number}" for number in range(plan.workers)]
        names += [f"keeper-{number}" for number in range(plan.keepers)] + ["front"]
        for name in names:
            loop.call_soon(self._begin, name)
        for at in plan.kills:
            loop.call_later(at, self._kill_later, names)
        for at in plan.stops:
            loop.call_later(at, self._stop, names)
        loop.call_later(plan.random.uniform(0, HEAL), self._cut, names)
        for at in plan.freezes:
            loop.call_later(at, self._freeze, names)
        loop.call_later(HEAL, self._heal)
        loop.call_soon(self._clients.start)
        over = loop.run(self._over, HEAL + PATIENCE)
        self.watch.broken += loop.errors
        if not self.watch.broken:
            self._finish(over=over)
        outcome = self._outcome()
        for life in self.lives.values():
            life.kill()
        loop.kill(0)
        self.world.file.drop()
        return outcome

    # --- processes

    def _front(self) -> Life | None:
        """The process that answers clients."""
        return self.lives.get("front")

    def _begin(self, name: str) -> None:
        life = self.lives[name] = self.world.life()
        if name.startswith("worker"):
            hand: Any = Hand(life, self.plan)
            poller = self._pollers[name] = Poller(hand, life.queue, policy=POLICY, sleep=nap, concurrency=2)
            life.start(poller.run())
        if name.startswith("keeper"):
            for duty in (life.sweeper, life.letters, life.telling, life.forgetting):
                life.start(life.keep(duty))

    def _kill_later(self, names: list[str]) -> None:
        """Not at a time, but so many callbacks later: in the middle of something."""
        draw = self.plan.random
        name = draw.choice(names)
        self.loop.alarms[self.loop.steps + draw.randint(1, 60)] = lambda: self._kill(name)

    def _kill(self, name: str) -> None:
        life = self.lives.pop(name, None)
        if life is not None:
            self._kills += 1
            life.kill()
            self.loop.call_later(self.plan.random.uniform(0.1, 12.0), self._begin, name)

    def _deadly(self) -> None:
        """Whoever runs is killed, as soon as it does not."""
        number = OWNER.get()
        names = [name for name, life in self.lives.items() if life.number == number]
        self.loop.call_soon(self._kill, *names, context=outside())

    def _stop(self, names: list[str]) -> None:
        name = self.plan.random.choice([name for name in names if name.startswith("worker")])
        if name in self.lives:
            self.lives[name].start(self._stopped(name))

    async def _stopped(self, name: str) -> None:
        await self._pollers[name].stop(self.plan.random.choice((0.5, 8.0)))
        self.loop.call_soon(self._kill, name)

    def _cut(self, names: list[str]) -> None:
        """One process alone reaches nothing for longer than its locks last."""
        life = self.lives.get(self.plan.random.choice(names))
        if life is not None and not self.plan.healed:
            for line in life.lines.values():
                line.cut = True
            self.loop.call_later(self.plan.random.uniform(1, 12), self._mend, life)

    def _freeze(self, names: list[str]) -> None:
        """One process sleeps, often for longer than its locks last, and wakes."""
        life = self.lives.get(self.plan.random.choice(names))
        if life is not None:
            self.loop.freeze(life.number)
            self.loop.call_later(self.plan.random.uniform(1, 14), self.loop.thaw, life.number)

    def _mend(self, life: Life) -> None:
        for line in life.lines.values():
            line.cut = False

    def _heal(self) -> None:
        self.plan.healed = True
        for life in self.lives.values():
            self._mend(life)

    def _behaviour(self) -> Behaviour:
        draw, plan = self.plan.random, self.plan
        ending = (
            draw.choice(("failed", "failed", "raised", "poison")) if plan.chance(plan.step_faults) else None
        )
        ending = "deadly" if plan.chance(plan.deadly) else ending
        slow = 25.0 if plan.chance(0.02) else draw.uniform(5, 12) if plan.chance(0.1) else draw.uniform(0, 1)
        return Behaviour(seconds=slow, ending=ending, credits=draw.choice((None, None, 0, 40, 500)))

    # --- the end

    def _over(self) -> bool:
        if self.watch.broken or self.loop.errors:
            return True
        if not self.plan.healed or self._clients.busy:
            return False
        runs = [*self.watch.runs.values(), *self.watch.forgotten.values()]
        alive = {run.job_id for run in self.watch.runs.values() if run.status is not Status.DEAD}
        quiet = all(queue == "dead" and job not in alive for queue, job, _ in self.watch.letters)
        told = {event.rsplit(":", 1)[0] for event in self.watch.told}
        return quiet and all(run.terminal and run.job_id in told for run in runs)

    def _finish(self, *, over: bool) -> None:
        watch = self.watch
        if not over:
            still = [(run.job_id[-4:], run.status.value) for run in watch.runs.values() if not run.terminal]
            watch.broken.append(f"L1 not over: {still}, {dict(watch.letters)}, untold or busy")
        self._clients.finish()
        for run in watch.runs.values():
            kept = any(queue == "dead" and job == run.job_id for queue, job, _ in watch.letters)
            fine = kept or run.job_id in watch.lost | self._clients.redriven
            watch.promise(fine or run.status is not Status.DEAD, "L2", run.job_id, "dead, and no dead letter")

    def _outcome(self) -> Outcome:
        runs = self.watch.runs | self.watch.forgotten
        left = "".join(f"{job}{run!r}" for job, run in sorted(runs.items()))
        return Outcome(
            seed=self.plan.seed,
            broken=tuple(self.watch.broken[:5]),
            ended=tuple(run.status.value for run in runs.values()),
            kills=self._kills,
            commits=self.watch.commits,
            seconds=round(self.loop.time()),
            digest=zlib.crc32(left.encode()),
        )


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the log, and without warnings of what a killed process never awaited."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        structlog.configure(**before)


def run_schedule(seed: int) -> Outcome:
    """Run one seed."""
    with _quietly():
        return Schedule(seed).run()


def run_schedules(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Run many seeds, one after another."""
    for seed in seeds:
        yield run_schedule(seed)


if __name__ == "__main__":
    sys.exit(command("lucius.testing.lifebook.simulation", run_schedule, run_schedules))
