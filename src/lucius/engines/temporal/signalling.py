"""Tells workflows. The invoker holds this and nothing else of Temporal that could start one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from lucius.engines.temporal import messages as msg
from lucius.engines.temporal.connection import reachable
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from temporalio.client import Client

RPC = timedelta(seconds=5)
NAMES: dict[type[msg.Signal], str] = {
    msg.StepAck: msg.ACK,
    msg.StepResultTold: msg.RESULT,
    msg.JobControl: msg.CONTROL,
}
#: How a run that closed on its own ended, in words; None: it is still open.
ENDINGS = {
    WorkflowExecutionStatus.COMPLETED: "completed",
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "was cancelled",
    WorkflowExecutionStatus.TERMINATED: "was terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed out",
}


class WorkflowSignals:
    """Signals by job id. A workflow that is closed or never was is an answer, not an error."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def tell(self, job_id: str, signal: msg.Signal) -> bool:
        """Deliver a signal; False when there is no open workflow to take it, or it takes no more of them."""
        return await self._signal(job_id, NAMES[type(signal)], signal)

    async def nudge(self, job_id: str) -> bool:
        """Let a workflow look at its job; False when there is no open one."""
        return await self._signal(job_id, msg.NUDGE)

    async def cancel(self, job_id: str) -> bool:
        """Let Temporal itself know that a job is cancelled."""
        try:
            with reachable():
                await self._client.get_workflow_handle(job_id).cancel(rpc_timeout=RPC)
        except RPCError as error:
            return _gone(error)
        return True

    async def ending(self, job_id: str) -> str | None:
        """How the workflow of a job closed, in words; None: it is open. `never started` is one of them."""
        try:
            with reachable():
                found = await self._client.get_workflow_handle(job_id).describe(rpc_timeout=RPC)
        except RPCError as error:
            _gone(error)
            return NEVER
        return ENDINGS.get(found.status) if found.status is not None else None

    async def _signal(self, job_id: str, name: str, *payload: msg.Signal) -> bool:
        try:
            handle = self._client.get_workflow_handle(job_id)
            with reachable():
                await handle.signal(name, args=payload, rpc_timeout=RPC)
        except RPCError as error:
            if error.status is RPCStatusCode.INVALID_ARGUMENT:
                return False  # this workflow takes no more, or not that; the others do, so nothing is away
            return _gone(error)
        return True


NEVER = "never started"


def _gone(error: RPCError) -> bool:
    """False for a workflow that is closed or unknown; anything else is Temporal being away.

    Without the namespace nothing is known of any workflow: that is no answer about this one.
    """
    if any(detail.Is(NamespaceNotFoundFailure.DESCRIPTOR) for detail in error.grpc_status.details):
        raise Unavailable(f"Temporal: {error.message}", code="TEMPORAL_UNAVAILABLE") from error
    if error.status is RPCStatusCode.NOT_FOUND:
        return False
    message = (
        f"Temporal does not answer ({error.status.name}: {error.message}); what was asked is tried again."
    )
    raise Unavailable(message, code="TEMPORAL_UNAVAILABLE") from error
