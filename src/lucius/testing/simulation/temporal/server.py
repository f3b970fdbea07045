"""A model of Temporal's server: histories that survive, and workers that are given tasks.

A workflow task takes everything that has come so far; what comes while it is under way waits for the
next one. A run may not close, or continue as new, over something it has not seen. A task that is lost
with its worker comes again, and the next worker replays the history first: the commands must be the same.

How it fails: while `away` nothing is taken and no task is given out; histories and timers are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.client import WorkflowExecutionStatus as Status

from lucius.engines.temporal.messages import NUDGE, Outcome
from lucius.ports.invoker import Advance
from lucius.testing.jobs import START
from lucius.testing.simulation.temporal.activities import Activities
from lucius.testing.simulation.temporal.execution import (
    Activity,
    Execution,
    called_off,
    cancel_asked,
    fired,
    signalled,
)
from lucius.testing.simulation.temporal.instance import CONVERTER, Instance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from temporalio.api.common.v1 import Payload
    from temporalio.bridge.proto.workflow_activation import WorkflowActivationJob
    from temporalio.bridge.proto.workflow_commands import WorkflowCommand

    from lucius.testing.simulation.temporal.roles import Worker
    from lucius.testing.simulation.temporal.schedule import World

TASK_TIMEOUT = 10.0
"""Seconds after which a workflow task of a dead worker comes again."""
_CLOSING = (
    "complete_workflow_execution",
    "fail_workflow_execution",
    "cancel_workflow_execution",
    "continue_as_new_workflow_execution",
)


class Server:
    """All workflows."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._plan = world.plan
        self._loop = world.loop
        self.executions: dict[str, Execution] = {}
        self._activities = Activities(world, self)

    @property
    def away(self) -> bool:
        """Whether it answers nobody."""
        return self._plan.temporal_away(self._loop.time())

    def clock(self) -> int:
        """Temporal's own time."""
        return START + int(self._loop.time() * 1000) + self._plan.skew

    # -- what clients may ask; called outside of every process ------------------------------------

    def start(
        self, workflow_id: str, arguments: Sequence[Payload], timeout: float | None, *, again: bool
    ) -> bool:
        """Start a workflow; False if there is or was one of that id."""
        if workflow_id in self.executions:
            if again and not self.executions[workflow_id].open:
                self._world.watch.note(f"S18 {workflow_id} is driven by a second workflow")
            return False
        made = Execution(workflow_id, arguments, self._plan.random.getrandbits(60), self.clock())
        self.executions[workflow_id] = made
        if timeout is not None:
            self._loop.call_later(timeout, self.close, made, Status.TIMED_OUT, None)
        self._wake(made)
        return True

    def signal(self, workflow_id: str, name: str, arguments: Sequence[Payload]) -> bool:
        """Signal an open workflow; False if there is none."""
        found = self.executions.get(workflow_id)
        if found is None or not found.open:
            return False
        found.signals += 1
        found.nudges += name == NUDGE
        self._world.watch.told(workflow_id, name, arguments)
        self.happen(found, signalled(name, arguments, found.signals))
        return True

    def cancel(self, workflow_id: str) -> bool:
        """Ask an open workflow to cancel; asking again changes nothing."""
        found = self.executions.get(workflow_id)
        if found is None or not found.open:
            return False
        if not found.cancel_requested:
            found.cancel_requested = True
            self.happen(found, cancel_asked())
        return True

    def driven(self, workflow_id: str) -> bool:
        """Whether there is an open workflow of that id."""
        found = self.executions.get(workflow_id)
        return found is not None and found.open

    # -- what happens to a run ----------------------------------------------------------------------

    def happen(self, execution: Execution, job: WorkflowActivationJob) -> None:
        """Write it down; a worker hears of it with the next task."""
        if execution.open:
            execution.pending.append(job)
            self._wake(execution)

    def close(self, execution: Execution, status: Status, outcome: object) -> None:
        """The workflow is over."""
        if not execution.open:
            return
        execution.status, execution.outcome, execution.closed_at = status, outcome, self.clock()
        self._leave_run(execution)

    def _leave_run(self, execution: Execution) -> None:
        for timer in execution.timers.values():
            timer.cancel()
        execution.activities.clear()
        for worker in self._world.workers():
            worker.evict(execution.run_id)

    def _wake(self, execution: Execution, after: float | None = None) -> None:
        if not execution.task and execution.pending and execution.open:
            execution.task = True
            wait = self._plan.latency() if after is None else after
            self._loop.call_later(wait, self._give, execution, execution.run_id)

    def _give(self, execution: Execution, run_id: str) -> None:
        """Give a workflow task to a worker, the one that has the run in memory if it lives."""
        if not execution.open or execution.run_id != run_id:
            return
        workers = self._world.workers()
        if self.away or not workers:
            self._loop.call_later(0.3, self._give, execution, run_id)
            return
        sticky = [worker for worker in workers if run_id in worker.cache]
        worker = sticky[0] if sticky else self._plan.random.choice(workers)
        if sticky and self._plan.chance(self._plan.task_faults):
            worker.evict(run_id)  # a cache is only a cache
        taken = list(execution.pending)
        activation = self._activation(execution, taken)
        instance = self._replayed(execution, worker)
        completion = instance.activate(activation)
        if completion.HasField("failed"):
            self._world.watch.note(f"L1 a workflow task failed: {completion.failed.failure.message}")
            return
        self._world.watch.knows(execution.workflow_id, instance.version)
        commands = list(completion.successful.commands)
        self._loop.call_later(
            self._plan.latency(), self._complete, execution, worker, activation, commands, len(taken)
        )

    def _activation(self, execution: Execution, jobs: list[WorkflowActivationJob]) -> WorkflowActivation:
        limit = self._plan.history_limit
        stamp = Timestamp()
        stamp.FromMilliseconds(self.clock())
        return WorkflowActivation(
            run_id=execution.run_id,
            timestamp=stamp,
            jobs=jobs,
            history_length=len(execution.history),
            continue_as_new_suggested=limit is not None and len(execution.history) >= limit,
        )

    def _replayed(self, execution: Execution, worker: Worker) -> Instance:
        """The run as a worker has it in memory, or brought there from its history."""
        cached = worker.cache.get(execution.run_id)
        if cached is not None:
            return cached
        made = worker.cache[execution.run_id] = Instance(
            execution.workflow_id, execution.run_id, execution.seed
        )
        for activation, answered in execution.history:
            again = WorkflowActivation()
            again.CopyFrom(activation)
            again.is_replaying = True
            if _encoded(list(made.activate(again).successful.commands)) != answered:
                self._world.watch.note(f"S18 {execution.run_id} does not replay as it ran")
        return made

    def _complete(
        self,
        execution: Execution,
        worker: Worker,
        activation: WorkflowActivation,
        commands: list[WorkflowCommand],
        taken: int,
    ) -> None:
        """A worker has answered a workflow task, if it still lives and is heard."""
        if not execution.open or execution.run_id != activation.run_id:
            return
        execution.task = False
        lost = worker.dead or self.away or self._plan.chance(self._plan.task_faults)
        unseen = len(execution.pending) > taken and any(c.WhichOneof("variant") in _CLOSING for c in commands)
        if lost or unseen:
            worker.evict(execution.run_id)
            self._wake(execution, self._plan.random.uniform(0.5, TASK_TIMEOUT) if lost else None)
            return
        del execution.pending[:taken]
        execution.history.append((activation, _encoded(commands)))
        for command in commands:
            self._obey(execution, command)
        self._wake(execution)

    def _obey(self, execution: Execution, command: WorkflowCommand) -> None:
        kind = str(command.WhichOneof("variant"))
        what: Any = getattr(command, kind)
        if kind == "schedule_activity":
            execution.asked += 1
            made = Activity(
                what.seq,
                what.activity_type,
                what.arguments,
                what.start_to_close_timeout.ToMilliseconds() / 1000,
            )
            execution.activities[what.seq] = made
            if what.activity_type == "advance":
                self._world.watch.drawn(CONVERTER.from_payload(what.arguments[0], Advance))
            self._activities.schedule(execution, made)
        elif kind == "start_timer":
            wait = what.start_to_fire_timeout.ToMilliseconds() / 1000
            execution.timers[what.seq] = self._loop.call_later(wait, self.happen, execution, fired(what.seq))
        elif kind == "cancel_timer":
            execution.timers.pop(what.seq).cancel()
            gone = fired(what.seq)
            execution.pending[:] = [job for job in execution.pending if job != gone]
        elif kind == "request_cancel_activity":
            if execution.activities.pop(what.seq, None) is not None:
                self.happen(execution, called_off(what.seq))
        elif kind == "continue_as_new_workflow_execution":
            self._leave_run(execution)
            execution.begin(what.arguments, self._plan.random.getrandbits(60))
        elif kind in _CLOSING:
            self._ended(execution, kind, what)
        elif kind != "upsert_workflow_search_attributes":
            self._world.watch.note(f"L1 the model knows no {kind}")

    def _ended(self, execution: Execution, kind: str, what: Any) -> None:
        if kind == "complete_workflow_execution":
            self.close(execution, Status.COMPLETED, CONVERTER.from_payload(what.result, Outcome))
        elif kind == "cancel_workflow_execution":
            self.close(execution, Status.CANCELED, None)
        else:
            self.close(execution, Status.FAILED, what.failure.application_failure_info.type)


def _encoded(commands: list[WorkflowCommand]) -> bytes:
    return b"\0".join(command.SerializeToString(deterministic=True) for command in commands)
