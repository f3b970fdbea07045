"""Starts workflows. The orchestrator holds this and nothing else of Temporal that could signal one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.common import (
    Priority,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from lucius.core.job import standing
from lucius.core.states import JOB_STATUS
from lucius.engines.temporal import attributes
from lucius.engines.temporal.connection import in_words
from lucius.engines.temporal.messages import WORKFLOW, Start
from lucius.engines.temporal.slim import slim_order, slim_standing
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from temporalio.client import Client

    from lucius.core.job import Job

RPC = timedelta(seconds=5)


class WorkflowStarts:
    """Starts the workflow of a job, once, however often it is asked."""

    def __init__(
        self,
        client: Client,
        *,
        task_queue: str,
        execution_timeout: timedelta | None = None,
        search_attributes: bool = True,
    ) -> None:
        self._client = client
        self._task_queue = task_queue
        self._timeout = execution_timeout
        self._attributes = search_attributes

    async def start(self, job: Job) -> bool:
        """True if the workflow runs from now on, False if it ran already; raises `Unavailable`."""
        order = job.order
        start = Start(
            order=slim_order(order), standing=slim_standing(standing(job)), attributes=self._attributes
        )
        try:
            await self._client.start_workflow(
                WORKFLOW,
                start,
                id=job.job_id,
                task_queue=self._task_queue,
                # A job has one workflow, for ever: neither a second beside it nor one after it. FAIL, not
                # USE_EXISTING: that would not say whether this call or an earlier one started it.
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                execution_timeout=self._timeout,
                search_attributes=self._searched(job),
                static_summary=f"{order.request_type} for {order.tenant_id}",
                static_details=_details(job),
                # Fair between tenants. No priority key: it would put one tenant's work before everybody's.
                priority=Priority(fairness_key=order.tenant_id),
                rpc_timeout=RPC,
            )
        except WorkflowAlreadyStartedError:
            return False
        except RPCError as error:  # away, or something there is to be mended: a namespace, an attribute
            message = f"Temporal does not start the workflow ({error})."
            raise Unavailable(message, code="TEMPORAL_UNAVAILABLE") from error
        except RuntimeError as error:  # it was never reached
            message = f"Temporal does not answer ({in_words(error)})."
            raise Unavailable(message, code="TEMPORAL_UNAVAILABLE") from error
        return True

    def _searched(self, job: Job) -> TypedSearchAttributes:
        if not self._attributes:
            return TypedSearchAttributes.empty
        order = job.order
        return TypedSearchAttributes(
            [
                SearchAttributePair(attributes.TENANT, order.tenant_id),
                SearchAttributePair(attributes.PROTOCOL, order.protocol.protocol_id),
                SearchAttributePair(attributes.STATUS, JOB_STATUS[job.state]),
            ]
        )


def _details(job: Job) -> str:
    order = job.order
    steps = " → ".join(step.step_id for step in order.protocol.steps)
    named = f", document {order.doc_id}" if order.doc_id else ""
    return f"{steps}{named}; lane {order.routing.lane}, {order.routing.mode}"
