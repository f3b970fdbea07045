"""Spans of Temporal's side, in the trace of the job: client, workflow and activities.

    order.traceparent ─▶ StartWorkflow ─┬▶ RunWorkflow, HandleSignal, CompleteWorkflow   (marks, no duration)
                                        └▶ StartActivity:advance ─▶ RunActivity ─▶ the invoker's POST
    span of the attempt ─▶ SignalWorkflow:step_ack, SignalWorkflow:step_result

The orders of jobs carry the trace, so a workflow that a duty starts an hour later is in it too. A call that
belongs to no trace starts none: nudges, queries and lists of duties would drown the jobs. Spans of the
workflow are written when it runs, never when it is replayed.

State: none. How it fails: as the provider does, it drops what it cannot send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from temporalio.client import Interceptor, OutboundInterceptor
from temporalio.contrib.opentelemetry import TracingInterceptor

from lucius.engines.temporal.messages import Start

if TYPE_CHECKING:
    from temporalio.client import SignalWorkflowInput, StartWorkflowInput, WorkflowHandle

    from lucius.telemetry.traces import Traces


def interceptors(traces: Traces) -> list[Interceptor]:
    """For every client; a worker takes those of its client. None when nothing is traced."""
    return [JobTracing(traces)] if traces.enabled else []


class JobTracing(TracingInterceptor):
    """Temporal's own interceptor, held to the traces of jobs."""

    def __init__(self, traces: Traces) -> None:
        super().__init__(traces.tracer)
        self._traces = traces

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002  its name there
        """Round every call of a client."""
        return _JobCalls(next, super().intercept_client(next), self._traces)


class _JobCalls(OutboundInterceptor):
    """Traces starts and signals; whatever else a client does is nobody's job."""

    def __init__(self, inner: OutboundInterceptor, traced: OutboundInterceptor, traces: Traces) -> None:
        super().__init__(inner)
        self._traced = traced
        self._traces = traces

    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:  # noqa: A002
        """Below the span that the order came with, whoever starts it and when."""
        start = input.args[0] if input.args else None
        with self._traces.below(start.order.traceparent if isinstance(start, Start) else None):
            calls = self._traced if self._traces.current() else self.next
            return await calls.start_workflow(input)

    async def signal_workflow(self, input: SignalWorkflowInput) -> None:  # noqa: A002
        """Below the span of whoever signals, if there is one."""
        calls = self._traced if self._traces.current() else self.next
        await calls.signal_workflow(input)
