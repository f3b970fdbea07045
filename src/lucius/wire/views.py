"""How jobs, steps and events look from outside.

The shapes are records, so the OpenAPI document is made from them and cannot say anything else. Names
are those of the ledger's rows (`step_id`, `attempt_no`, …), with `jobId` as in the messages; `state` is
exact, `status` is the coarse word. Times are ISO-8601 UTC with `Z`. Words that come from clients and
services (payloads, error messages) pass `clean` on their way out, which takes secrets away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import msgspec

from lucius.core.events import Event
from lucius.core.job import Job, Ref, Step
from lucius.core.payloads import section_of
from lucius.core.states import JOB_STATUS, STEP_STATUS, JobState, StepState
from lucius.core.timing import due_at
from lucius.wire.timestamps import iso

Clean = Callable[[Any], Any]
JobStatus = Literal["QUEUED", "IN_PROGRESS", "PAUSED", "SUCCEEDED", "FAILED_FINAL", "CANCELLED"]
StepStatus = Literal[
    "PENDING", "INITIATED", "PROCESSING", "FAILED_RETRY", "SUCCEEDED", "FAILED_FINAL", "CANCELLED"
]


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Where to go from here."""

    self: str
    steps: str
    events: str
    explain: str


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One step as it stands."""

    step_id: str
    step_index: int
    step_type: str
    service: str
    state: StepState
    status: StepStatus
    attempt_no: int | None
    lease_id: str | None
    lease_expires_at: str | None
    lane: int
    routing_key_used: str
    resolved_mode: str
    decision_source: str
    decision_reason: str
    input_ref: Ref
    workspace_ref: Ref
    output_ref: Ref
    payload: dict[str, Any]
    result_ref: Ref | None
    artifacts: list[Ref]
    progress: float | None
    progress_message: str | None
    publish_tries: int
    dispatch_failures: int
    execution_failures: int
    retry_at: str | None
    published_at: str | None
    acked_at: str | None
    last_error_code: str | None
    last_error_message: str | None
    created_at: str
    updated_at: str
    completed_at: str | None


class JobSummary(msgspec.Struct, frozen=True, kw_only=True, rename={"job_id": "jobId"}):
    """One job as it stands, without its steps."""

    job_id: str
    tenant_id: str
    request_type: str
    protocol_id: str
    protocol_version: str
    state: JobState
    status: JobStatus
    progress: float
    current_step_id: str
    current_step_index: int
    attempts_total: int
    doc_id: str | None
    mode: str
    tenant_bucket: str
    lane: int
    routing_key_used: str
    topic: str
    decision_source: str
    decision_reason: str
    priority: int
    schema_version: str
    input_ref: Ref
    output_ref: Ref
    workspace_ref: Ref
    final_output: Ref | None
    error_code: str | None
    error_message: str | None
    idempotency_key: str | None
    idempotency_hash: str
    correlation_id: str | None
    traceparent: str | None
    ancestor_id: str | None
    not_before: str | None
    deadline_at: str | None
    next_due_at: str | None
    paused_at: str | None
    cancel_requested_at: str | None
    created_at: str
    updated_at: str
    completed_at: str | None
    version: int
    links: Links


class JobView(JobSummary, frozen=True, kw_only=True, rename={"job_id": "jobId"}):
    """One job as it stands, with its steps."""

    steps: list[StepView]


def job_status(state: JobState) -> JobStatus:
    """The coarse word for a job's state."""
    return cast("JobStatus", JOB_STATUS[state])


def step_status(state: StepState) -> StepStatus:
    """The coarse word for a step's state."""
    return cast("StepStatus", STEP_STATUS[state])


def links_of(job_id: str) -> Links:
    """Paths, relative to wherever Lucius is reached."""
    here = f"/v1/jobs/{job_id}"
    return Links(self=here, steps=f"{here}/steps", events=f"{here}/events", explain=f"{here}/explain")


def job_summary(job: Job, clean: Clean) -> JobSummary:
    """A job for a list."""
    return JobSummary(**_job_fields(job, clean))


def job_view(job: Job, clean: Clean) -> JobView:
    """A job with its steps."""
    return JobView(**_job_fields(job, clean), steps=step_views(job, clean))


def step_views(job: Job, clean: Clean) -> list[StepView]:
    """The steps of a job, in order."""
    return [_step_view(job, step, clean) for step in job.steps]


def event_view(event: Event, clean: Clean) -> dict[str, Any]:
    """An event: its type, number and time, and what else it holds."""
    shown: dict[str, Any] = msgspec.to_builtins(event)
    for name, value in shown.items():
        if name == "at" or (name.endswith("_at") and value is not None):
            shown[name] = iso(value)
        elif name in ("error", "message", "reason") and value is not None:
            shown[name] = clean(value)
        elif name == "result" and value is not None and value.get("error") is not None:
            shown[name] = value | {"error": clean(value["error"])}
    return shown


def progress_of(job: Job) -> float:
    """The share of the work that is done: whole steps, and what the current ones say of themselves."""
    done = sum(1.0 if s.state is StepState.SUCCEEDED else s.progress or 0.0 for s in job.steps)
    return round(done / len(job.steps), 4)


def moment(milliseconds: int | None) -> str | None:
    """The wire form of a time that may not be set."""
    return None if milliseconds is None else iso(milliseconds)


def _job_fields(job: Job, clean: Clean) -> dict[str, Any]:
    order, routing, index = job.order, job.order.routing, job.current_index
    return {
        "job_id": order.job_id,
        "tenant_id": order.tenant_id,
        "request_type": order.request_type,
        "protocol_id": order.protocol.protocol_id,
        "protocol_version": order.protocol.version,
        "state": job.state,
        "status": job_status(job.state),
        "progress": progress_of(job),
        "current_step_id": job.steps[index].step_id,
        "current_step_index": index,
        "attempts_total": job.attempts_total,
        "doc_id": order.doc_id,
        "mode": routing.mode,
        "tenant_bucket": f"{order.tenant_id}#{iso(order.accepted_at)[:7].replace('-', '')}",
        "lane": routing.lane,
        "routing_key_used": routing.routing_key_used,
        "topic": routing.topic,
        "decision_source": routing.decision_source,
        "decision_reason": routing.decision_reason,
        "priority": order.priority,
        "schema_version": order.schema_version,
        "input_ref": order.input_ref,
        "output_ref": order.output_ref,
        "workspace_ref": order.workspace_ref,
        "final_output": job.final_output,
        "error_code": job.error.code if job.error else None,
        "error_message": clean(job.error.message) if job.error else None,
        "idempotency_key": order.idempotency_key,
        "idempotency_hash": order.idempotency_hash,
        "correlation_id": order.correlation_id,
        "traceparent": order.traceparent,
        "ancestor_id": order.ancestor_id,
        "not_before": moment(order.not_before),
        "deadline_at": moment(job.deadline_at),
        "next_due_at": moment(due_at(job)),
        "paused_at": moment(job.paused_at),
        "cancel_requested_at": moment(job.cancel_requested_at),
        "created_at": iso(order.accepted_at),
        "updated_at": iso(job.updated_at),
        "completed_at": moment(job.completed_at),
        "version": job.version,
        "links": links_of(order.job_id),
    }


def _step_view(job: Job, step: Step, clean: Clean) -> StepView:
    order, routing = job.order, job.order.routing
    recipe, attempt, result, error = (
        order.protocol.steps[step.index],
        step.attempt,
        step.result,
        step.last_error,
    )
    return StepView(
        step_id=step.step_id,
        step_index=step.index,
        step_type=recipe.step_type,
        service=recipe.service,
        state=step.state,
        status=step_status(step.state),
        attempt_no=attempt.attempt_no if attempt else None,
        lease_id=attempt.lease_id if attempt else None,
        lease_expires_at=iso(attempt.lease_expires_at) if attempt else None,
        lane=routing.lane,
        routing_key_used=routing.routing_key_used,
        resolved_mode=routing.mode,
        decision_source=routing.decision_source,
        decision_reason=routing.decision_reason,
        input_ref=order.input_ref,
        workspace_ref=order.workspace_ref,
        output_ref=order.output_ref,
        payload=clean(section_of(order.payload, order.protocol, step.step_id)),
        result_ref=result.output_ref if result else None,
        artifacts=list(result.artifacts) if result else [],
        progress=step.progress,
        progress_message=clean(step.progress_message),
        publish_tries=attempt.publish_tries if attempt else 0,
        dispatch_failures=step.dispatch_failures,
        execution_failures=step.execution_failures,
        retry_at=moment(step.retry_at),
        published_at=moment(attempt.published_at) if attempt else None,
        acked_at=moment(attempt.acked_at) if attempt else None,
        last_error_code=error.code if error else None,
        last_error_message=clean(error.message) if error else None,
        created_at=iso(step.created_at),
        updated_at=iso(step.updated_at),
        completed_at=moment(step.completed_at),
    )
