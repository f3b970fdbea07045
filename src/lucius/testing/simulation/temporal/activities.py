"""Activity tasks: tried until one try answers in time.

A try belongs to a worker and dies with it; the server finds out when its time is over. A try that takes
longer than it may goes on as a late twin of the next one; its answer is not taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from temporalio.exceptions import ApplicationError

from lucius.engines.temporal.workflow import PATIENT
from lucius.ports.invoker import Advance
from lucius.testing.simulation.loop import nap
from lucius.testing.simulation.temporal.execution import resolved
from lucius.testing.simulation.temporal.instance import CONVERTER

if TYPE_CHECKING:
    from temporalio.api.common.v1 import Payload

    from lucius.testing.simulation.temporal.execution import Activity, Execution
    from lucius.testing.simulation.temporal.roles import Worker
    from lucius.testing.simulation.temporal.schedule import World
    from lucius.testing.simulation.temporal.server import Server

_TYPES: dict[str, list[type]] = {"advance": [Advance], "cancel": [str, str]}


class Activities:
    """Gives activity tasks to workers and takes their answers."""

    def __init__(self, world: World, server: Server) -> None:
        self._world = world
        self._plan = world.plan
        self._loop = world.loop
        self._server = server

    def schedule(self, execution: Execution, activity: Activity, after: float | None = None) -> None:
        """Try it, soon or after a backoff."""
        wait = self._plan.latency() if after is None else after
        self._loop.call_later(wait, self._give, execution, execution.run_id, activity)

    def _wanted(self, execution: Execution, run_id: str, activity: Activity) -> bool:
        return (
            execution.open
            and execution.run_id == run_id
            and execution.activities.get(activity.seq) is activity
        )

    def _give(self, execution: Execution, run_id: str, activity: Activity) -> None:
        if not self._wanted(execution, run_id, activity):
            return
        workers = self._world.workers()
        if self._server.away or not workers:
            self._loop.call_later(0.3, self._give, execution, run_id, activity)
            return
        worker = self._plan.random.choice(workers)
        activity.tries += 1
        execution.tried += 1
        number = activity.tries
        self._loop.call_later(activity.timeout, self._missed, execution, run_id, activity, number)
        worker.spawn(self._perform(worker, execution, activity, number))

    async def _perform(self, worker: Worker, execution: Execution, activity: Activity, number: int) -> None:
        """Inside the worker: call, and tell the server, as soon as it listens."""
        run_id = execution.run_id
        arguments = CONVERTER.from_payloads(activity.arguments, _TYPES[activity.name])
        answer: Payload | None = None
        try:
            found = await getattr(worker.activities, activity.name)(*arguments)
            [answer] = CONVERTER.to_payloads([found])
        except ApplicationError:
            pass  # tried again
        await nap(self._plan.latency())
        while self._server.away:
            await nap(0.3)
        if not self._plan.chance(self._plan.rpc_faults / 4):  # else the answer is lost
            self._world.outside(self._answered, execution, run_id, activity, number, answer)

    def _answered(
        self, execution: Execution, run_id: str, activity: Activity, number: int, answer: Payload | None
    ) -> None:
        if not self._wanted(execution, run_id, activity) or activity.tries != number:
            return
        if answer is None:
            self._again(execution, activity)
            return
        del execution.activities[activity.seq]
        self._server.happen(execution, resolved(activity.seq, answer))

    def _missed(self, execution: Execution, run_id: str, activity: Activity, number: int) -> None:
        """The time of a try is over."""
        if self._wanted(execution, run_id, activity) and activity.tries == number:
            self._plan.faults += 1
            self._again(execution, activity)

    def _again(self, execution: Execution, activity: Activity) -> None:
        activity.tries += 1  # whoever still works on it is too late
        first, most = PATIENT.initial_interval, PATIENT.maximum_interval
        longest = most.total_seconds() if most is not None else 10.0
        wait = first.total_seconds() * PATIENT.backoff_coefficient ** min(activity.failures, 20)
        activity.failures += 1
        self.schedule(execution, activity, min(wait, longest))
