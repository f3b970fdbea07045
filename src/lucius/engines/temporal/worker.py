"""The worker process: workflows and the calls they make. It holds no state; any number may run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from lucius.engines.temporal.activities import UNKNOWN_TRIES, InvokerActivities
from lucius.engines.temporal.workflow import JobWorkflow

if TYPE_CHECKING:
    from temporalio.client import Client

    from lucius.ports.invoker import Invoker

#: Our modules are taken as they are: else every job reads the workflow's file anew, for 6 ms. That they use
#: no clock, no chance and no network is the linter's to see, and a test replays in the strict sandbox.
SANDBOX = SandboxedWorkflowRunner(
    restrictions=SandboxRestrictions.default.with_passthrough_modules("lucius", "msgspec")
)

TASKS = 16
"""Workflow tasks in hand at a time; the others wait in Temporal, where no clock runs against them."""


def build_worker(
    client: Client,
    invoker: Invoker,
    *,
    task_queue: str,
    drain_seconds: float = 10.0,
    concurrency: int = 100,
    cached: int = 1_000,
    version: tuple[str, str] | None = None,
    unknown_tries: int = UNKNOWN_TRIES,
) -> Worker:
    """A worker at rest; `run()` it. Stopped, it finishes the calls under way.

    `version`: the name of a deployment and a build of it. Then a workflow stays with the build that it began
    with, and somebody must tell Temporal which build is current; None: any worker takes any workflow.
    """
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[JobWorkflow],
        activities=InvokerActivities(invoker, unknown_tries=unknown_tries).all(),
        workflow_runner=SANDBOX,
        # One interpreter runs them in turn. What it took and cannot finish in time is done again from the
        # start: a worker that takes a hundred at once on a busy machine ends by finishing none.
        max_concurrent_workflow_tasks=TASKS,
        max_concurrent_activities=concurrency,
        max_cached_workflows=cached,
        # How long a workflow waits for a worker that knows it and has died.
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=2),
        graceful_shutdown_timeout=timedelta(seconds=drain_seconds),
        deployment_config=_pinned(*version) if version else None,
    )


def _pinned(deployment: str, build: str) -> WorkerDeploymentConfig:
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment_name=deployment, build_id=build),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )
