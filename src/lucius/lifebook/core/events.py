"""What analytics is told of a run: one event, made by the decision that ends it.

`workflow_run_completed` for runs that completed or died, as the contract has it; a canceled run did neither
and leaves `workflow_run_canceled`. The id follows from the run, so that a doubled delivery can be seen.
"""

from __future__ import annotations

import msgspec

from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status, TriggerType

COMPLETED = "workflow_run_completed"
CANCELED = "workflow_run_canceled"


class RunEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event."""

    event_id: str
    name: str
    job_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    trigger_type: TriggerType
    success: bool
    status: Status
    attempts: int
    steps_done: int
    steps_total: int
    credits_spent: int
    created_at: int
    started_at: int | None
    completed_at: int
    error_code: str | None
    trace_id: str


def event_of(run: Run) -> RunEvent:
    """The event of a run that has ended."""
    name = CANCELED if run.status is Status.CANCELED else COMPLETED
    return RunEvent(
        event_id=f"{run.job_id}:{name}",
        name=name,
        job_id=run.job_id,
        workspace_id=run.workspace_id,
        user_id=run.user_id,
        workflow_id=run.workflow_id,
        trigger_type=run.trigger_type,
        success=run.status is Status.COMPLETED,
        status=run.status,
        attempts=run.attempts,
        steps_done=run.step_cursor,
        steps_total=run.steps_total,
        credits_spent=run.credits_spent,
        created_at=run.created_at,
        started_at=run.started_at,
        completed_at=run.completed_at if run.completed_at is not None else run.updated_at,
        error_code=run.last_error_code,
        trace_id=run.trace_id,
    )
