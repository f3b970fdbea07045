"""What waits in a task queue, and who serves it: two cheap questions to the server."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.service import RPCError

from lucius.errors import Unavailable

if TYPE_CHECKING:
    from temporalio.client import Client

_ASK = timedelta(seconds=1)
_KINDS = {
    "workflow": TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    "activity": TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
}


class TaskQueueFigures:
    """Looks at one task queue. No state."""

    def __init__(self, client: Client, task_queue: str) -> None:
        self._client = client
        self._name = task_queue

    async def __call__(self) -> tuple[dict[str, float], dict[str, float]]:
        """Tasks that wait, and workers that asked lately, both by kind; raises `Unavailable`."""
        try:
            asked = await asyncio.gather(*(self._ask(kind) for kind in _KINDS.values()))
        except RPCError as error:
            message = f"Temporal does not describe task queue {self._name} ({error.status.name})."
            raise Unavailable(message, code="TEMPORAL_UNAVAILABLE") from error
        named = dict(zip(_KINDS, asked, strict=True))
        return (
            {kind: float(found[0]) for kind, found in named.items()},
            {kind: float(found[1]) for kind, found in named.items()},
        )

    async def _ask(self, kind: TaskQueueType.ValueType) -> tuple[int, int]:
        request = DescribeTaskQueueRequest(
            namespace=self._client.namespace,
            task_queue=TaskQueue(name=self._name),
            task_queue_type=kind,
            report_stats=True,
        )
        found = await self._client.workflow_service.describe_task_queue(request, timeout=_ASK)
        return found.stats.approximate_backlog_count, len({poller.identity for poller in found.pollers})
