"""What a seed draws for a schedule of service processes, and a virtual loop on which files take time.

Everything the simulation of Lucius draws is drawn too: its kills, outages, lost and doubled messages. On top
come the services: how many processes, when they are killed or stopped, how the store and the way to Lucius
fail, what the work does. In a kind schedule no step suffers more faults than it has attempts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from lucius.testing.jobs import protocol, recipe
from lucius.testing.simulation.loop import OWNER, VirtualLoop
from lucius.testing.simulation.plan import Plan

if TYPE_CHECKING:
    from lucius.core.protocol import Protocol

STEP_TYPE = "WORK"
LEASE_MS = 6_000
_WORK = ("well", "well", "well", "slow", "stubborn", "chatty")
_FAULTS = ("retry", "bug", "rubbish", "overtime")


class RunnerPlan(Plan):
    """The draws of one schedule."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.random
        self.by_bus = draw.random() < 0.3
        """Replies go over the bus, which says nothing back; else as callbacks, which do."""
        self.processes = draw.choice((1, 2))
        self.concurrency = draw.choice((1, 2, 4))
        self.prefetch = draw.choice((0, 2, 8))
        self.claim_seconds = draw.choice((0.6, 1.5, 4.0))
        self.drain_seconds = draw.choice((0.1, 2.0, 20.0))
        self.service_kills = sorted({draw.randint(30, 1_500) for _ in range(draw.choice((0, 1, 2, 3)))})
        self.stops = [draw.uniform(0.5, 10.0) for _ in range(draw.choice((0, 0, 1, 2)))]
        self.sleeps = [
            (draw.uniform(0.5, 10.0), draw.uniform(0.5, 9.0)) for _ in range(draw.choice((0, 0, 1, 2)))
        ]
        """When a machine falls asleep, and for how long."""
        self.store_faults = draw.choice((0.0, 0.02, 0.1))
        self.link_faults = draw.choice((0.0, 0.05, 0.2))
        self.store_outages = [
            (at, at + draw.uniform(0.2, 3.0)) for at in self._times(draw.choice((0, 0, 0, 1)))
        ]
        self.skew = {number: draw.choice((0, 0, 150, -150)) for number in range(2)}
        """Milliseconds by which the clock of a process is ahead."""
        self._poison: dict[tuple[str, str], bool] = {}

    def recipe(self) -> Protocol:
        """A protocol of one to three steps with short times, all of one type."""
        draw = self.random
        budget = 14 if self.kind else draw.randint(1, 3)
        steps = [
            recipe(
                f"s{number}", step_type=STEP_TYPE, ack_timeout=2_500, lease=LEASE_MS,
                dispatch_deadline=240_000, max_dispatch_attempts=budget, max_execution_attempts=budget,
                publish_backoff=(500, 1_000), ack_backoff=(300, 600), execution_backoff=(300, 600),
                jitter=0.2,
            )
            for number in range(draw.choice((1, 1, 2, 3)))
        ]  # fmt: skip
        return protocol(*steps)

    def script(self, job_id: str, step_id: str) -> str:
        """What the work of one attempt does."""
        key = (job_id, step_id)
        if key not in self._poison:
            self._poison[key] = self.chance(0.05)
        if self._poison[key]:
            return "final"
        if self.fault(job_id, step_id, self.service_faults):
            return self.random.choice(_FAULTS)
        return self.random.choice(_WORK)

    def poisoned(self, job_id: str) -> bool:
        """Whether a step of this job can only fail."""
        return any(bad and owner == job_id for (owner, _), bad in self._poison.items())

    def store_away(self, now: float) -> bool:
        """Whether the store refuses everything now."""
        return not self.healed and any(start <= now < end for start, end in self.store_outages)


class ThreadlessLoop(VirtualLoop):
    """Calls meant for a thread run between two callbacks, one after another, a little later.

    A process that is killed may or may not get the call done that its thread was at.
    """

    def __init__(self, plan: RunnerPlan) -> None:
        super().__init__()
        self._plan = plan
        self._threads: dict[int, list[Callable[[], None]]] = {}
        self._free_at: dict[int, float] = {}
        self._frozen: dict[int, list[tuple[asyncio.Handle, int]]] = {}

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call the function when the thread is free."""
        del executor  # each process has one thread
        owner = OWNER.get()
        future = self.create_future()
        waiting = self._threads.setdefault(owner, [])

        def call() -> None:
            waiting.remove(call)
            try:
                done = func(*args)
            except Exception as error:  # noqa: BLE001 - it is the caller's
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(done)

        waiting.append(call)
        at = max(self._free_at.get(owner, 0.0), self.time()) + self._plan.latency() / 4
        self._free_at[owner] = at
        self.call_at(at, call)
        return future

    def kill(self, owner: int) -> None:
        """Nothing of this owner ever runs again."""
        self._frozen.pop(owner, None)
        under_way = self._threads.pop(owner, [])
        if under_way and self._plan.random.random() < 0.5:
            under_way[0]()
        super().kill(owner)

    def freeze(self, owner: int, seconds: float) -> None:
        """Nothing of this owner runs for a while, as when its machine sleeps; then all of it at once."""
        if owner in self._frozen:
            return
        self._frozen[owner] = [item for item in self._ready if item[1] == owner]
        self._ready = deque(item for item in self._ready if item[1] != owner)
        self.call_later(seconds, self._thaw, owner)

    def _thaw(self, owner: int) -> None:
        self._ready.extend(self._frozen.pop(owner, ()))

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback when its turn comes."""
        handle = super().call_soon(callback, *args, context=context)
        self._hold_back()
        return handle

    def _jump(self, limit: float) -> bool:
        jumped = super()._jump(limit)
        while jumped and not self._ready_now():
            jumped = super()._jump(limit)
        return jumped

    def _ready_now(self) -> bool:
        self._hold_back()
        return bool(self._ready)

    def _hold_back(self) -> None:
        """What was made ready last waits if its owner is frozen."""
        if self._frozen and self._ready[-1][1] in self._frozen:
            item = self._ready.pop()
            self._frozen[item[1]].append(item)

    def asleep(self) -> bool:
        """Whether anybody is frozen."""
        return bool(self._frozen)

    def alive(self, owner: int) -> int:
        """How many tasks of an owner there are."""
        return len(self._tasks.get(owner, ()))
