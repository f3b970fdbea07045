"""What the server keeps of one workflow: everything here survives whoever dies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.activity_result import ActivityResolution, Cancellation, Success
from temporalio.bridge.proto.workflow_activation import (
    CancelWorkflow,
    FireTimer,
    InitializeWorkflow,
    ResolveActivity,
    SignalWorkflow,
    WorkflowActivationJob,
)
from temporalio.client import WorkflowExecutionStatus as Status

from lucius.engines.temporal.messages import WORKFLOW

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from temporalio.api.common.v1 import Payload
    from temporalio.bridge.proto.workflow_activation import WorkflowActivation


class Activity:
    """One activity of a run, until it is resolved."""

    def __init__(self, seq: int, name: str, arguments: Sequence[Payload], timeout: float) -> None:
        self.seq = seq
        self.name = name
        self.arguments = arguments
        self.timeout = timeout
        self.tries = 0
        """The number of the try that may still answer."""
        self.failures = 0


class Execution:
    """One workflow, with the run it is in."""

    def __init__(self, workflow_id: str, arguments: Sequence[Payload], seed: int, at: int) -> None:
        self.workflow_id = workflow_id
        self.started_at = at
        self.closed_at: int | None = None
        self.status = Status.RUNNING
        self.outcome: object = None
        """What it completed with, or the type it failed with."""
        self.cancel_requested = False
        self.runs = 0
        self.asked = 0
        """Activities scheduled, over all runs."""
        self.tried = 0
        """Tries of them."""
        self.signals = 0
        self.nudges = 0
        self.begin(arguments, seed)

    def begin(self, arguments: Sequence[Payload], seed: int) -> None:
        """A run starts, the first or one that continues it."""
        self.runs += 1
        self.run_id = f"{self.workflow_id}/{self.runs}"
        self.seed = seed
        self.history: list[tuple[WorkflowActivation, bytes]] = []
        """Activations with the commands they were answered with."""
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.activities: dict[int, Activity] = {}
        self.task = False
        """A workflow task is under way or about to be."""
        start = InitializeWorkflow(
            workflow_type=WORKFLOW, workflow_id=self.workflow_id, arguments=arguments, randomness_seed=seed
        )
        self.pending: list[WorkflowActivationJob] = [WorkflowActivationJob(initialize_workflow=start)]

    @property
    def open(self) -> bool:
        """Whether it still runs."""
        return self.status is Status.RUNNING


def signalled(name: str, arguments: Sequence[Payload], number: int) -> WorkflowActivationJob:
    """A signal has come, as the event of that number."""
    signal = SignalWorkflow(signal_name=name, input=arguments, originating_event_id=number)
    return WorkflowActivationJob(signal_workflow=signal)


def fired(seq: int) -> WorkflowActivationJob:
    """A timer has fired."""
    return WorkflowActivationJob(fire_timer=FireTimer(seq=seq))


def resolved(seq: int, result: Payload) -> WorkflowActivationJob:
    """An activity has answered."""
    answer = ActivityResolution(completed=Success(result=result))
    return WorkflowActivationJob(resolve_activity=ResolveActivity(seq=seq, result=answer))


def called_off(seq: int) -> WorkflowActivationJob:
    """An activity that the workflow no longer waits for."""
    failure = Failure(message="Activity cancelled")
    failure.canceled_failure_info.SetInParent()
    answer = ActivityResolution(cancelled=Cancellation(failure=failure))
    return WorkflowActivationJob(resolve_activity=ResolveActivity(seq=seq, result=answer))


def cancel_asked() -> WorkflowActivationJob:
    """Somebody asked to cancel the workflow."""
    return WorkflowActivationJob(cancel_workflow=CancelWorkflow(reason="asked"))
