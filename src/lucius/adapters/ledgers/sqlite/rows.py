"""Between records and rows. Column lists stand beside the functions that fill and read them."""

from __future__ import annotations

from typing import Any

import msgspec

from lucius.core import events as ev
from lucius.core.job import Attempt, Fault, Job, Order, Step, StepResult
from lucius.core.states import JobState, StepState
from lucius.core.timing import due_at
from lucius.ports.ledger import OutboxRow

Row = tuple[Any, ...]

_encode = msgspec.json.encode
_order = msgspec.json.Decoder(Order)
_event = msgspec.json.Decoder(ev.AnyEvent)
_result = msgspec.json.Decoder(StepResult)
_ref = msgspec.json.Decoder(dict[str, Any])

#: Fixed when the job is accepted; the rest of a job row changes.
JOB_FIXED = (
    "job_id", "tenant_id", "request_type", "protocol_id", "mode", "doc_id", "correlation_id", "ancestor_id",
    "created_at",
)  # fmt: skip
JOB_MOVING = (
    "state", "version", "current_step_id", "current_step_index", "attempts_total", "updated_at",
    "completed_at", "error_code", "error_message", "final_output", "deadline_at", "paused_at",
    "cancel_requested_at", "due_at",
)  # fmt: skip
STEP_FIXED = ("job_id", "step_index", "step_id", "step_type", "service", "lane", "created_at")
STEP_MOVING = (
    "state", "updated_at", "completed_at", "attempt_no", "lease_id", "lease_expires_at",
    "attempt_created_at", "publish_due_at", "dispatch_deadline_at", "publish_tries", "published_at",
    "ack_due_at", "acked_at", "dispatch_failures", "execution_failures", "retry_at", "result",
    "last_error_code", "last_error_message", "progress", "progress_message",
)  # fmt: skip
OUTBOX = (
    "job_id", "step_index", "attempt_no", "message_id", "tenant_id", "step_id", "lease_id", "subject",
    "topic", "lane", "mode", "priority", "body", "created_at",
)  # fmt: skip


def text(value: object) -> str:
    """JSON text of a record."""
    return _encode(value).decode()


def job_row(job: Job) -> Row:
    """JOB_FIXED + JOB_MOVING."""
    order, error = job.order, job.error
    index = job.current_index
    return (
        order.job_id, order.tenant_id, order.request_type, order.protocol.protocol_id, order.routing.mode,
        order.doc_id, order.correlation_id, order.ancestor_id, order.accepted_at,
        job.state, job.version, job.steps[index].step_id, index, job.attempts_total, job.updated_at,
        job.completed_at, error and error.code, error and error.message,
        job.final_output and text(job.final_output), job.deadline_at, job.paused_at,
        job.cancel_requested_at, due_at(job),
    )  # fmt: skip


def step_row(job: Job, step: Step) -> Row:
    """STEP_FIXED + STEP_MOVING."""
    recipe = job.order.protocol.steps[step.index]
    a, error = step.attempt, step.last_error
    attempt: Row = (None,) * 10
    if a is not None:
        attempt = (
            a.attempt_no, a.lease_id, a.lease_expires_at, a.created_at, a.publish_due_at,
            a.dispatch_deadline_at, a.publish_tries, a.published_at, a.ack_due_at, a.acked_at,
        )  # fmt: skip
    return (
        job.order.job_id, step.index, step.step_id, recipe.step_type, recipe.service,
        job.order.routing.lane, step.created_at,
        step.state, step.updated_at, step.completed_at, *attempt,
        step.dispatch_failures, step.execution_failures, step.retry_at,
        step.result and text(step.result), error and error.code, error and error.message,
        step.progress, step.progress_message,
    )  # fmt: skip


def event_row(job_id: str, event: ev.Event) -> Row:
    """job_id, seq, type, at, body."""
    return (job_id, event.seq, ev.kind(event), event.at, text(event))


def outbox_row(row: OutboxRow) -> Row:
    """OUTBOX."""
    return (
        row.job_id, row.step_index, row.attempt_no, row.message_id, row.tenant_id, row.step_id,
        row.lease_id, row.subject, row.topic, row.lane, row.mode, row.priority, row.body.decode(),
        row.created_at,
    )  # fmt: skip


def read_event(body: str) -> ev.Event:
    """An event from its body."""
    return _event.decode(body)


def read_order(body: str) -> Order:
    """An order from its body."""
    return _order.decode(body)


def read_outbox(row: Row) -> OutboxRow:
    """From OUTBOX columns."""
    fields = dict(zip(OUTBOX, row, strict=True))
    fields["body"] = fields["body"].encode()
    return OutboxRow(**fields)


def read_job(order: Order, moving: Row, steps: list[Row]) -> Job:
    """From the order, JOB_MOVING columns and (STEP_FIXED + STEP_MOVING) rows in index order."""
    (state, version, _, _, _, updated_at, completed_at, error_code, error_message, final_output, deadline_at,
     paused_at, cancel_requested_at, _) = moving  # fmt: skip
    return Job(
        order=order, state=JobState(state), version=version, updated_at=updated_at,
        completed_at=completed_at, error=_fault(error_code, error_message),
        final_output=_ref.decode(final_output) if final_output else None,
        deadline_at=deadline_at, paused_at=paused_at, cancel_requested_at=cancel_requested_at,
        steps=tuple(_read_step(row) for row in steps),
    )  # fmt: skip


def _read_step(row: Row) -> Step:
    r = dict(zip(STEP_FIXED + STEP_MOVING, row, strict=True))
    attempt = None
    if r["attempt_no"] is not None:
        attempt = Attempt(
            attempt_no=r["attempt_no"], lease_id=r["lease_id"], created_at=r["attempt_created_at"],
            lease_expires_at=r["lease_expires_at"], publish_due_at=r["publish_due_at"],
            dispatch_deadline_at=r["dispatch_deadline_at"], publish_tries=r["publish_tries"],
            published_at=r["published_at"], ack_due_at=r["ack_due_at"], acked_at=r["acked_at"],
        )  # fmt: skip
    return Step(
        step_id=r["step_id"], index=r["step_index"], state=StepState(r["state"]), created_at=r["created_at"],
        updated_at=r["updated_at"], completed_at=r["completed_at"], attempt=attempt,
        dispatch_failures=r["dispatch_failures"], execution_failures=r["execution_failures"],
        retry_at=r["retry_at"], result=_result.decode(r["result"]) if r["result"] else None,
        last_error=_fault(r["last_error_code"], r["last_error_message"]),
        progress=r["progress"], progress_message=r["progress_message"],
    )  # fmt: skip


def _fault(code: str | None, message: str | None) -> Fault | None:
    return Fault(code=code, message=message or "") if code is not None else None
