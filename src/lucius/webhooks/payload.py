"""The body of a webhook: a CloudEvent in structured JSON, made once and sent unchanged.

Only changes of the job's own state are told. A step's acknowledgement is one when it is the job's
first (the job goes to IN_PROGRESS); which one that is, `outgoing` knows.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from lucius.core import events as happened
from lucius.core.job import Fault, Job, Ref
from lucius.core.states import JOB_STATUS, RUNNING_JOB, JobState

CONTENT_TYPE = "application/cloudevents+json; charset=UTF-8"
SOURCE = "/lucius"

_TOLD: dict[type[happened.Event], tuple[str, JobState]] = {
    happened.JobAccepted: ("accepted", JobState.QUEUED),
    happened.StepAcknowledged: ("in_progress", JobState.IN_PROGRESS),
    happened.JobPaused: ("paused", JobState.PAUSED),
    happened.JobResumed: ("resumed", JobState.IN_PROGRESS),
    happened.JobCancelling: ("cancelling", JobState.CANCELLING),
    happened.JobCancelled: ("cancelled", JobState.CANCELLED),
    happened.JobSucceeded: ("succeeded", JobState.SUCCEEDED),
    happened.JobFailed: ("failed", JobState.FAILED_FINAL),
}


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What the client learns about its job."""

    job_id: str = msgspec.field(name="jobId")
    tenant_id: str
    request_type: str
    doc_id: str | None
    correlation_id: str | None
    seq: int
    state: str
    status: str
    error: Fault | None = None
    final_output: Ref | None = None
    reason: str | None = None


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """CloudEvents 1.0, JSON format."""

    specversion: str
    type: str
    id: str
    source: str
    subject: str
    time: str
    datacontenttype: str
    data: Data
    traceparent: str | None = None


def notifies(event: happened.Event) -> bool:
    """True for the kinds of event a client is told of (of acknowledgements: the first only)."""
    return type(event) in _TOLD


def event_type(event: happened.Event) -> str:
    """The public type, as in `lucius.job.succeeded`."""
    return f"lucius.job.{_TOLD[type(event)][0]}"


def message_id(job_id: str, seq: int) -> str:
    """The id of the event, the same for every URL and every try."""
    return f"{job_id}.{seq}"


def body_of(job: Job, event: happened.Event, *, source: str = SOURCE) -> bytes:
    """The bytes to send about this event of this job."""
    order, state = job.order, _state_after(job, event)
    data = Data(
        job_id=order.job_id,
        tenant_id=order.tenant_id,
        request_type=order.request_type,
        doc_id=order.doc_id,
        correlation_id=order.correlation_id,
        seq=event.seq,
        state=state.value,
        status=JOB_STATUS[state],
        error=event.error if isinstance(event, happened.JobFailed) else None,
        final_output=event.final_output if isinstance(event, happened.JobSucceeded) else None,
        reason=_reason(event),
    )
    told = CloudEvent(
        specversion="1.0",
        type=event_type(event),
        id=message_id(order.job_id, event.seq),
        source=source,
        subject=order.job_id,
        time=_iso(event.at),
        datacontenttype="application/json",
        data=data,
        traceparent=order.traceparent,
    )
    return msgspec.json.encode(told)


def _state_after(job: Job, event: happened.Event) -> JobState:
    # A resumed job goes back to where it stood, which only the job itself can say.
    if isinstance(event, happened.JobResumed) and job.state in RUNNING_JOB:
        return job.state
    return _TOLD[type(event)][1]


def _reason(event: happened.Event) -> str | None:
    told = isinstance(event, happened.JobCancelling | happened.JobCancelled)
    reason: Any = getattr(event, "reason", None) if told else None
    return None if reason is None else str(reason)


def _iso(at: int) -> str:
    moment = datetime.fromtimestamp(at // 1000, UTC) + timedelta(milliseconds=at % 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
