"""Random programs over the real store, queue, workers and duties; the watch sees every transaction.

Whatever a rule starts runs for some callbacks, perhaps not to its end: a crash after it is a crash in the
middle of it. At the end of every program all is healed, and every run must come to its end.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from lucius.errors import Invalid, LuciusError, NotFound, Refused, Unavailable
from lucius.lifebook.core.run import Run, read_envelope
from lucius.lifebook.core.states import Status
from lucius.lifebook.usecases.create import RunRequest
from lucius.testing.lifebook.simulation_plan import POLICY, PRICE, WELL
from lucius.testing.lifebook.simulation_steps import Behaviour, Steps
from lucius.testing.lifebook.simulation_world import Life, World
from tests.lifebook.weather import Weather

WORKERS = 3
OPENING = 40 * PRICE
MOODS = (
    *(Behaviour(), Behaviour(), Behaviour(seconds=1), Behaviour(seconds=10), Behaviour(credits=30)),
    *(Behaviour(ending="failed"), Behaviour(ending="raised"), Behaviour(ending="poison")),
)
SOME = st.integers(0, 9)
LONG = st.sampled_from([1000, 1000, 1000, 34, 21, 13, 8, 5, 3, 2, 1, 0])
"""How many callbacks something runs before the next rule."""

MOVES: list[tuple[str, dict[str, st.SearchStrategy[Any]]]] = []
"""What can happen; what happens more often is there more often."""
Method = TypeVar("Method", bound=Callable[..., None])


def move(often: int, **drawn: st.SearchStrategy[Any]) -> Callable[[Method], Method]:
    """One of the things that can happen. All are one rule: programs then have a bit of everything in them."""

    def note(method: Method) -> Method:
        MOVES.extend([(method.__name__, drawn)] * often)
        return method

    return note


class Machine(RuleBasedStateMachine):
    """Everybody does anything at any time."""

    @initialize(flow=st.integers(1, 4), mood=st.sampled_from(MOODS))
    def begin(self, flow: int, mood: Behaviour) -> None:
        """Workers, one process for all the rest, and a run."""
        self.weather = Weather()
        self.mood = mood
        steps = Steps(lambda: self.mood, PRICE)
        self.world = World(steps.registry, POLICY, self.weather, opening=OPENING)
        self.watch = steps.watch = self.world.watch
        self.loop = self.world.loop
        self.workers = [self.world.life() for _ in range(WORKERS)]
        self.keeper = self.world.life()
        self.accepted: dict[str, Run] = {}
        self.create(key="a", page=1, flow=flow, long=1000)

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """Anything."""
        name, drawn = data.draw(st.sampled_from(MOVES))
        getattr(self, name)(**{key: data.draw(strategy) for key, strategy in drawn.items()})

    # --- people

    @move(2, key=st.sampled_from("abc"), page=st.integers(1, 2), flow=st.integers(1, 4), long=LONG)
    def create(self, key: str, page: int, flow: int, long: int) -> None:
        """A new key, the same again, or the same for something else."""
        request = RunRequest(
            workspace_id="acme", user_id="ada", workflow_id=f"flow-{flow}", input={"page": page}, key=key
        )
        self._begun(self.keeper, self._create(request), long)

    async def _create(self, request: RunRequest) -> None:
        try:
            run = (await self.keeper.create.create(request)).run
        except (Invalid, Unavailable):
            return
        except LuciusError as error:
            self.watch.promise(error.code == "INSUFFICIENT_CREDITS", "S8", request.workflow_id, repr(error))
            return
        same = (run.workflow_id, run.input) == (request.workflow_id, request.input)
        self.watch.promise(same, "S8", run.job_id, "the key of another request")
        self.watch.promise(run.job_id in self.watch.runs, "S9", run.job_id, "accepted, not stored")
        self.accepted[run.job_id] = run

    @move(1, which=SOME, long=LONG)
    def cancel(self, which: int, long: int) -> None:
        """Of any run."""
        run = self._any(which)
        if run is not None:
            self.watch.cancels.add(run.job_id)
            self._begun(self.keeper, self._cancel(run), long)

    async def _cancel(self, run: Run) -> None:
        try:
            await self.keeper.control.cancel(run)
        except (Unavailable, NotFound):
            return
        except Refused:
            now = self.watch.runs[run.job_id]
            self.watch.promise(now.terminal, "D3", run.job_id, f"a cancel was refused to a {now.status} run")
            return
        won = self.watch.runs[run.job_id].status is Status.CANCELED
        self.watch.promise(won, "D3", run.job_id, "canceled, and it goes on")

    @move(1, which=SOME, drive=st.booleans(), long=LONG)
    def retry(self, which: int, drive: bool, long: int) -> None:
        """Of any run, by name or as a dead letter."""
        run = self._any(which)
        if run is not None:
            self._begun(self.keeper, self._retry(run, drive=drive), long)

    async def _retry(self, run: Run, *, drive: bool) -> None:
        try:
            if drive:
                made = await self.keeper.letters.redrive(run.job_id, user_id="ops")
            else:
                made = await self.keeper.control.retry(run, user_id="ops")
        except LuciusError:
            return
        self.watch.promise(made.run.retry_of == run.job_id, "A9", run.job_id, "retried as itself")

    # --- processes

    @move(3, who=SOME, long=LONG)
    def deliver(self, who: int, long: int) -> None:
        """A worker takes the next message."""
        worker = self.workers[who % WORKERS]
        self._begun(worker, self._deliver(worker), long)

    async def _deliver(self, worker: Life) -> None:
        try:
            found = await worker.queue.receive(1, wait_seconds=0, hidden_seconds=POLICY.lease / 1000 + 5)
        except Unavailable:
            return
        for delivery in found:
            await worker.one(delivery)

    @move(4, seconds=st.sampled_from([0, 0.5, 2, 7, 12]), times=st.integers(1, 4))
    def work(self, seconds: float, times: int) -> None:
        """All workers take messages for a while."""
        for _ in range(times):
            for worker in self.workers:
                self._begun(worker, self._deliver(worker), 1000)
            self.loop.pass_time(seconds)

    @move(3, duty=st.sampled_from(["sweeper", "sweeper", "letters", "telling", "forgetting"]), long=LONG)
    def keep(self, duty: str, long: int) -> None:
        """A duty, once."""
        self._begun(self.keeper, self._keep(getattr(self.keeper, duty)), long)

    async def _keep(self, duty: Any) -> None:
        try:
            await duty.run_once()
        except Unavailable:
            return

    @move(2, who=st.integers(0, WORKERS))
    def crash(self, who: int) -> None:
        """A process is killed, and another starts."""
        if who == WORKERS:
            self.keeper.kill()
            self.keeper = self.world.life()
        else:
            self.workers[who].kill()
            self.workers[who] = self.world.life()

    # --- the world

    @move(2, seconds=st.sampled_from([0.5, 1, 2, 3, 6, 7, 12, 20, 45]))
    def advance(self, seconds: float) -> None:
        """Time passes."""
        self.loop.pass_time(seconds)

    @move(2, long=LONG)
    def go_on(self, long: int) -> None:
        """Whoever can goes on, without time passing."""
        self.loop.few(long)

    @move(
        1, port=st.sampled_from(["store", "work", "dead", "analytics"]), seconds=st.sampled_from([1, 4, 15])
    )
    def cut(self, port: str, seconds: float) -> None:
        """A port is away for a while."""
        self.weather.away.add(port)
        self.loop.call_later(seconds, self.weather.away.discard, port)

    @move(1, answers=st.integers(1, 3))
    def lose_answers(self, answers: int) -> None:
        """The next calls are carried out, and nobody hears of it."""
        self.weather.unheard = answers

    @move(1, fate=st.sampled_from(["lost", "twice", "late"]))
    def next_message(self, fate: str) -> None:
        """The next message does not arrive as it should."""
        self.weather.message = fate

    @move(1, mood=st.sampled_from(MOODS))
    def steps_do(self, mood: Behaviour) -> None:
        """What steps do from now on."""
        self.mood = mood

    @move(1)
    def drop(self) -> None:
        """A message is gone behind everybody's back."""
        self.loop.start(self._drop())
        self.loop.settle()

    async def _drop(self) -> None:
        for delivery in await self.world.work.receive(1, wait_seconds=0, hidden_seconds=1):
            envelope = read_envelope(delivery.body)
            assert envelope is not None
            self.watch.lost.add(envelope.job_id)
            await self.world.work.delete(delivery)

    # --- promises

    @invariant()
    def promises(self) -> None:
        """Nothing was broken by any transaction so far."""
        if hasattr(self, "world"):
            broken = self.watch.broken + self.loop.errors
            assert not broken, broken

    def teardown(self) -> None:
        """When all is well again, every run comes to its end."""
        if not hasattr(self, "world"):
            return
        self.weather.away, self.weather.unheard, self.weather.message = set(), 0, WELL
        self.mood = Behaviour()
        try:
            if not self.watch.broken:
                self._drain()
        finally:
            for life in (*self.workers, self.keeper):
                life.kill()
            self.loop.kill(0)
            self.world.file.drop()

    def _drain(self) -> None:
        for _ in range(60):
            for life in self.workers:
                for _ in range(3):
                    self._begun(life, self._deliver(life), 1000)
            for duty in (self.keeper.sweeper, self.keeper.letters, self.keeper.telling):
                self._begun(self.keeper, self._keep(duty), 1000)
            self.loop.pass_time(12)
            if self._over():
                break
        self.promises()
        assert self._over(), (self.watch.runs, self.watch.letters)
        for job_id in self.accepted:
            assert job_id in self.watch.runs or job_id in self.watch.forgotten

    def _over(self) -> bool:
        runs = [*self.watch.runs.values(), *self.watch.forgotten.values()]
        told = {event.rsplit(":", 1)[0] for event in self.watch.told}
        done = all(run.terminal and run.job_id in told for run in runs)
        return done and not any(queue == "work" for queue, _, _ in self.watch.letters)

    def _any(self, which: int) -> Run | None:
        runs = list(self.watch.runs.values())
        return runs[which % len(runs)] if runs else None

    def _begun(self, life: Life, work: Coroutine[Any, Any, None], callbacks: int) -> None:
        life.start(work)
        self.loop.few(callbacks)


def _search(**asked: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of what killed processes never awaited
        run_state_machine_as_test(Machine, settings=settings(deadline=None, **asked))


def test_no_program_breaks_a_promise() -> None:
    """Crashes at any await, lost answers and messages, outages, people in any order: all promises hold."""
    _search(max_examples=100, stateful_step_count=40)


@pytest.mark.proof
def test_no_program_of_very_many_breaks_a_promise() -> None:
    """The same for longer programs, searched for anew."""
    examples = int(os.environ.get("LUCIUS_EXAMPLES", "4000"))
    _search(max_examples=examples, stateful_step_count=80, derandomize=False)
