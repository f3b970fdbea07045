"""One run of the real workflow code: the SDK's own instance, fed with activations and asked for commands.

State: lives in a worker's cache. Given the same activations again it must answer with the same commands;
the server compares. It never waits: everything happens inside `activate`.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from temporalio.api.common.v1 import Payloads
from temporalio.bridge.proto.workflow_activation import (
    RemoveFromCache,
    WorkflowActivation,
    WorkflowActivationJob,
)
from temporalio.common import Priority, TypedSearchAttributes
from temporalio.converter import DefaultFailureConverter
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstanceDetails
from temporalio.workflow import Info, _Definition

from lucius.engines.temporal.converter import LuciusPayloadConverter
from lucius.engines.temporal.messages import WORKFLOW
from lucius.engines.temporal.workflow import JobWorkflow

if TYPE_CHECKING:
    from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion

_RUNNER = UnsandboxedWorkflowRunner()
_EPOCH = datetime(2026, 1, 27, tzinfo=UTC)
CONVERTER = LuciusPayloadConverter()


class Instance:
    """The workflow code of one run, in memory."""

    def __init__(self, workflow_id: str, run_id: str, seed: int) -> None:
        definition = _Definition.must_from_class(JobWorkflow)
        self._inner = _RUNNER.create_instance(
            WorkflowInstanceDetails(
                payload_converter_factory=lambda: CONVERTER,
                failure_converter_class=DefaultFailureConverter,
                interceptor_classes=(),
                defn=definition,
                info=_info(workflow_id, run_id),
                randomness_seed=seed,
                extern_functions={},
                disable_eager_activity_execution=True,
                worker_level_failure_exception_types=(),
                patch_activation_callback=None,
                last_completion_result=Payloads(),
                last_failure=None,
            )
        )
        self._run_id = run_id

    @property
    def version(self) -> int:
        """The version of the job that the workflow knows."""
        workflow: JobWorkflow = self._inner._object  # type: ignore[attr-defined]  # noqa: SLF001
        return workflow._pilot.job.version  # noqa: SLF001

    def activate(self, activation: WorkflowActivation) -> WorkflowActivationCompletion:
        """Let the workflow code run as far as it gets."""
        outer = asyncio._get_running_loop()  # noqa: SLF001 - an instance is an event loop of its own
        try:
            return self._inner.activate(activation)
        finally:
            asyncio._set_running_loop(outer)  # noqa: SLF001

    def evict(self) -> None:
        """Forget it."""
        away = WorkflowActivationJob(remove_from_cache=RemoveFromCache(message="evicted"))
        self.activate(WorkflowActivation(run_id=self._run_id, jobs=[away]))


def _info(workflow_id: str, run_id: str) -> Info:
    return Info(
        attempt=1, continued_run_id=None, cron_schedule=None, execution_timeout=None,
        first_execution_run_id=run_id, headers={}, namespace="default", original_execution_run_id=run_id,
        parent=None, root=None, priority=Priority.default, raw_memo={}, retry_policy=None, run_id=run_id,
        run_timeout=None, search_attributes={}, start_time=_EPOCH, task_queue="simulated",
        task_timeout=timedelta(seconds=10), typed_search_attributes=TypedSearchAttributes.empty,
        workflow_id=workflow_id, workflow_start_time=_EPOCH, workflow_type=WORKFLOW,
    )  # fmt: skip
