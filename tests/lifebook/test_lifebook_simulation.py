"""Many seeded schedules of lifebook runs; one schedule twice; one bad call at a time."""

from __future__ import annotations

import warnings

import pytest

from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.ports.queue import Delivery
from lucius.lifebook.usecases.create import RunRequest
from lucius.lifebook.worker.poller import Poller
from lucius.testing.lifebook.simulation import run_schedule
from lucius.testing.lifebook.simulation_plan import POLICY, PRICE, REFUSED, UNHEARD, WELL
from lucius.testing.lifebook.simulation_steps import Behaviour, Steps
from lucius.testing.lifebook.simulation_world import Life, World
from lucius.testing.simulation.loop import nap
from tests.simulation.searching import as_many, check_replay, search

SCHEDULES = 250
MANY = 20_000
MODULE = "lucius.testing.lifebook.simulation"


def test_no_schedule_breaks_a_promise() -> None:
    """Crashes, lost answers, lost and doubled messages, outages: every promise holds, all runs end."""
    search(MODULE, 0, SCHEDULES)


@pytest.mark.proof
def test_no_schedule_of_very_many_breaks_a_promise() -> None:
    """The same with seeds that no other run has used."""
    search(MODULE, SCHEDULES, as_many(MANY))


@pytest.mark.parametrize("seed", [3, 21])
def test_a_seed_always_goes_the_same_way(seed: int) -> None:
    """A seed that failed can be replayed: the same seed gives the same story, in another process too."""
    check_replay(run_schedule, seed)


class OneBadCall:
    """The call with this number, to this port, is refused or its answer is lost; all others are well."""

    def __init__(self, port: str, fate: str, number: int) -> None:
        self._port, self._fate, self._left = port, fate, number

    def fate(self, port: str, _now: float) -> str:
        """Of a call."""
        if port != self._port:
            return WELL
        self._left -= 1
        return self._fate if self._left == 0 else WELL

    @property
    def happened(self) -> bool:
        """Whether there was such a call."""
        return self._left <= 0

    def handling(self) -> str:
        """Every message arrives."""
        return WELL

    def latency(self) -> float:
        """None."""
        return 0.0

    def rest(self, seconds: float) -> float:
        """As long as usual."""
        return seconds


class Hurried:
    """A worker that has time for one step."""

    def __init__(self, life: Life, hurry: float | None) -> None:
        self._life, self._hurry = life, hurry
        self.drain, self.abort = life.worker.drain, life.worker.abort

    @property
    def hindered(self) -> bool:
        """Whether the store was away."""
        return self._life.worker.hindered

    async def handle(self, delivery: Delivery) -> bool:
        """One delivery."""
        return await self._life.handle(delivery, self._hurry)


def _one_run(fates: OneBadCall, hurry: float | None) -> tuple[Run, World]:
    """A run of three steps, from its creation to its end, and the world it leaves."""
    steps = Steps(lambda: Behaviour(seconds=2.0), PRICE)
    world = World(steps.registry, POLICY, fates, opening=1000)
    steps.watch = world.watch
    front, worker, keeper = world.life(), world.life(), world.life()
    request = RunRequest(workspace_id="acme", user_id="ada", workflow_id="flow-3", key="k")

    async def create() -> None:
        while not world.watch.runs:
            try:
                await front.ask(front.create.create(request), seconds=5)
            except Exception:  # noqa: BLE001 - not answered: asked again
                await nap(0.5)

    world.loop.start(create())
    hand = Hurried(worker, hurry)
    worker.start(Poller(hand, worker.queue, policy=POLICY, sleep=nap, concurrency=1).run())  # type: ignore[arg-type]
    for duty in (keeper.sweeper, keeper.letters, keeper.telling):
        keeper.start(keeper.keep(duty))
    world.loop.pass_time(30)
    if not world.watch.told or world.watch.letters:  # a claim, or a loan, must end first
        world.loop.pass_time(120)
    for life in (front, worker, keeper):
        life.kill()
    [run] = world.watch.runs.values()
    world.file.drop()
    assert world.watch.broken + world.loop.errors == []
    return run, world


@pytest.mark.parametrize("hurry", [None, 9.8], ids=["at once", "handed on"])
@pytest.mark.parametrize("fate", [REFUSED, UNHEARD])
@pytest.mark.parametrize("port", ["store", "work"])
def test_one_bad_call_costs_no_attempt(port: str, fate: str, hurry: float | None) -> None:
    """Whichever call fails or loses its answer, the run completes soon, in one attempt, every step once."""
    for number in range(1, 40):
        fates = OneBadCall(port, fate, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            run, world = _one_run(fates, hurry)
        assert (run.status, run.attempts, run.crashes) == (Status.COMPLETED, 1, 0), (number, run)
        assert run.credits_spent == 3 * PRICE
        assert run.completed_at is not None
        assert run.completed_at - run.created_at < POLICY.queue_patience
        assert len(world.watch.told) == 1
        assert not world.watch.letters
        if not fates.happened:
            break
