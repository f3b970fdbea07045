"""Spans of Temporal's side, in the trace of the job: client, workflow and activities.

    order.traceparent ─▶ StartWorkflow ─┬▶ RunWorkflow, HandleSignal, CompleteWorkflow   (moments)
                                        └▶ RunActivity:advance ─▶ the invoker's POST
    span of the attempt ─▶ SignalWorkflow:step_ack, SignalWorkflow:step_result

The orders of jobs carry the trace, so a workflow that a duty starts an hour later is in it too. A call that
belongs to no trace starts none: nudges, queries and lists of duties would drown the jobs. A start that finds
the workflow running leaves no span. Those of the workflow are written when it runs, never in a replay.

State: none. How it fails: as the provider does, it drops what it cannot send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.trace import SpanKind, Status, StatusCode, use_span
from temporalio.client import Interceptor, OutboundInterceptor
from temporalio.contrib.opentelemetry import TracingInterceptor, TracingWorkflowInboundInterceptor
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.worker import WorkflowInboundInterceptor, WorkflowOutboundInterceptor

from lucius.engines.temporal.messages import Start

if TYPE_CHECKING:
    from typing import NoReturn

    from temporalio.client import SignalWorkflowInput, StartWorkflowInput, WorkflowHandle
    from temporalio.worker import ContinueAsNewInput, StartActivityInput, WorkflowInterceptorClassInput
    from temporalio.workflow import ActivityHandle

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
        return _JobCalls(next, super().intercept_client(next), self)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[TracingWorkflowInboundInterceptor]:
        """Round every workflow."""
        super().workflow_interceptor_class(input)  # which gives workflows the means to write
        return _JobMoments

    @property
    def traces(self) -> Traces:
        """Where spans go."""
        return self._traces


class _JobMoments(TracingWorkflowInboundInterceptor):
    """Moments of a workflow. What it calls hangs below its start: a span for each call is one too many."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        """Before the first of them."""
        WorkflowInboundInterceptor.init(self, _JobAsks(outbound, self))


class _JobAsks(WorkflowOutboundInterceptor):
    """What a workflow asks for, with the span to hang below."""

    def __init__(self, inner: WorkflowOutboundInterceptor, root: _JobMoments) -> None:
        super().__init__(inner)
        self._root = root

    def start_activity(self, input: StartActivityInput) -> ActivityHandle[Any]:  # noqa: A002
        """In the trace of the workflow."""
        _carry(self._root, input)
        return super().start_activity(input)

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:  # noqa: A002
        """The next run is in the same trace."""
        _carry(self._root, input)
        super().continue_as_new(input)


class _JobCalls(OutboundInterceptor):
    """Traces starts and signals; whatever else a client does is nobody's job."""

    def __init__(self, inner: OutboundInterceptor, traced: OutboundInterceptor, root: JobTracing) -> None:
        super().__init__(inner)
        self._traced = traced
        self._root = root
        self._traces = root.traces

    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:  # noqa: A002
        """Below the span that the order came with, whoever starts it and when."""
        start = input.args[0] if input.args else None
        with self._traces.below(start.order.traceparent if isinstance(start, Start) else None):
            if not self._traces.current():
                return await self.next.start_workflow(input)
            return await self._start(input)

    async def _start(self, given: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        span = self._root.tracer.start_span(
            f"StartWorkflow:{given.workflow}",
            kind=SpanKind.CLIENT,
            attributes={"temporalWorkflowID": given.id},
        )
        with use_span(span, record_exception=False, set_status_on_exception=False):
            _carry(self._root, given)
            try:
                handle = await self.next.start_workflow(given)
            except WorkflowAlreadyStartedError:
                raise  # a span that never ends is never sent: nothing was started here
            except BaseException as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
                span.end()
                raise
        span.end()
        return handle

    async def signal_workflow(self, input: SignalWorkflowInput) -> None:  # noqa: A002
        """Below the span of whoever signals, if there is one."""
        calls = self._traced if self._traces.current() else self.next
        await calls.signal_workflow(input)


def _carry(
    root: TracingInterceptor | TracingWorkflowInboundInterceptor,
    given: StartWorkflowInput | StartActivityInput | ContinueAsNewInput,
) -> None:
    """Let whoever is called know the span that is at work here."""
    carrier: dict[str, Any] = {}
    root.text_map_propagator.inject(carrier)
    if carrier:
        (payload,) = root.payload_converter.to_payloads([carrier])
        given.headers = {**given.headers, root.header_key: payload}
