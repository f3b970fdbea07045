"""Temporal, as every process of the temporal engine has it: a client, the rights it gives, and an eye on it.

A client connects when first used. Rights are counted and timed, and traced where traces go anywhere.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.engines.temporal.observed import ObservedSignals, ObservedStarts
from lucius.engines.temporal.signalling import WorkflowSignals
from lucius.engines.temporal.starting import WorkflowStarts
from lucius.engines.temporal.task_queue import TaskQueueFigures
from lucius.runtime.temporal_access import temporal_access
from lucius.runtime.temporal_pulse import TemporalPulse
from lucius.telemetry.gauges import temporal_gauges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from temporalio.client import Client, Interceptor
    from temporalio.runtime import Runtime

    from lucius.ports.ledger import Ledger
    from lucius.runtime.building.watching import Watching
    from lucius.runtime.settings import Settings
    from lucius.runtime.state import State
    from lucius.telemetry.traces import Traces


async def open_client(
    settings: Settings, address: str, traces: Traces, *, lazy: bool = True, runtime: Runtime | None = None
) -> Client:
    """A client of the server at `address`. A lazy one needs no server yet, and cannot have a worker."""
    where = Whereabouts(address=address, namespace=settings.temporal_namespace, **temporal_access(settings))
    return await connect(where, interceptors=_interceptors(traces), lazy=lazy, runtime=runtime)


def _interceptors(traces: Traces) -> Sequence[Interceptor]:
    """What sees every call to Temporal, in all processes, and every workflow in the worker."""
    if not traces.enabled:
        return ()
    from lucius.engines.temporal.tracing import interceptors  # who does not trace need not load it

    return interceptors(traces)


def watched_temporal(
    settings: Settings, client: Client, address: str, state: State, watching: Watching
) -> TemporalPulse:
    """The duty that asks whether Temporal answers; what it hears is also in the gauges."""
    queue = TaskQueueFigures(client, settings.temporal_task_queue)
    watching.metrics.gauges("temporal", temporal_gauges(lambda: "temporal" not in state.missed, queue))
    return TemporalPulse(client, state, address)


def workflow_signals(client: Client, ledger: Ledger, watching: Watching) -> ObservedSignals:
    """The right to tell workflows: the invoker's."""
    return ObservedSignals(WorkflowSignals(client), watching.metrics.observe_signal, ledger.job)


def workflow_starts(settings: Settings, client: Client, watching: Watching) -> ObservedStarts:
    """The right to start workflows: the orchestrator's."""
    seconds = settings.temporal_workflow_execution_timeout
    starts = WorkflowStarts(
        client,
        task_queue=settings.temporal_task_queue,
        execution_timeout=None if seconds is None else timedelta(seconds=seconds),
        search_attributes=settings.temporal_search_attributes,
    )
    return ObservedStarts(starts, watching.metrics.observe_start)
