"""The worker process of the bare workflow, with the settings that ours has.

`python -m bench.bare_temporal_worker FRONT_PORT ADDRESS TASK_QUEUE`; it ends by SIGTERM.
"""

from __future__ import annotations

import asyncio
import dataclasses
import signal
import sys
from datetime import timedelta

import httpx2
import uvloop
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from bench.bare_temporal import BareJob, Directive

SANDBOX = SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules("bench"))


class Hands:
    """The one activity: hand a directive to the front."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    @activity.defn
    async def publish(self, directive: Directive) -> None:
        """Answered when the front has it."""
        answer = await self._http.post("/publish", json=dataclasses.asdict(directive))
        answer.raise_for_status()


async def work(port: int, address: str, task_queue: str) -> None:
    """Until told to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    limits = httpx2.Limits(max_connections=100, max_keepalive_connections=50, keepalive_expiry=4.0)
    async with httpx2.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", limits=limits, trust_env=False
    ) as http:
        worker = Worker(
            await Client.connect(address),
            task_queue=task_queue,
            workflows=[BareJob],
            activities=[Hands(http).publish],
            workflow_runner=SANDBOX,
            max_concurrent_activities=100,
            max_cached_workflows=1_000,
            sticky_queue_schedule_to_start_timeout=timedelta(seconds=2),
        )
        async with worker:
            await stop.wait()


def main() -> None:
    """Work."""
    uvloop.run(work(int(sys.argv[1]), sys.argv[2], sys.argv[3]))


if __name__ == "__main__":
    main()
