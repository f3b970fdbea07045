from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event

from lucius.core import events as ev
from lucius.core.job import Fault, Job, StepResult
from lucius.core.states import JobState
from lucius.webhooks.outgoing import deliveries_for, shown
from lucius.webhooks.payload import CONTENT_TYPE, body_of, notifies

URL = "https://hooks.example.com/in"
ACK = ev.StepAcknowledged(seq=4, at=9, step_id="ocr", attempt_no=2, lease_expires_at=99)
DONE = ev.JobSucceeded(seq=6, at=1_700_000_000_042, final_output={"uri": "s3://b/out/x"})
MakeJob = Callable[..., Job]


def test_clients_hear_of_job_changes_only() -> None:
    """Of all kinds of event exactly the job's own changes, and the acknowledgement, can notify."""
    told = {str(cls.__struct_config__.tag) for cls in get_args(ev.AnyEvent) if notifies(_blank(cls))}
    assert told == {
        "job.accepted",
        "step.acknowledged",
        "job.paused",
        "job.resumed",
        "job.cancelling",
        "job.cancelled",
        "job.succeeded",
        "job.failed",
    }


def test_body_is_a_cloud_event(make_job: MakeJob) -> None:
    """The body reads as a CloudEvent in structured mode, with the job's ids and its outcome."""
    job = make_job(URL, state=JobState.SUCCEEDED, correlation_id="c-1", traceparent="00-ab-cd-01")
    message = HTTPMessage(headers={"content-type": CONTENT_TYPE}, body=body_of(job, DONE))
    event = from_http_event(message)
    assert (event.get_type(), event.get_id(), event.get_subject()) == ("lucius.job.succeeded", "j1.6", "j1")
    assert event.get_source() == "/lucius"
    assert event.get_extension("traceparent") == "00-ab-cd-01"
    assert msgspec.json.decode(body_of(job, DONE))["time"] == "2023-11-14T22:13:20.042Z"
    assert event.get_data() == {
        "jobId": "j1",
        "tenant_id": "tenant_a",
        "request_type": "OCR",
        "doc_id": None,
        "correlation_id": "c-1",
        "seq": 6,
        "state": "SUCCEEDED",
        "status": "SUCCEEDED",
        "error": None,
        "final_output": {"uri": "s3://b/out/x"},
        "reason": None,
    }


@pytest.mark.parametrize(
    ("event", "state", "status"),
    [
        (ev.JobAccepted(seq=1, at=1), "QUEUED", "QUEUED"),
        (ACK, "IN_PROGRESS", "IN_PROGRESS"),
        (ev.JobPaused(seq=5, at=1), "PAUSED", "PAUSED"),
        (ev.JobCancelling(seq=5, at=1, reason="late"), "CANCELLING", "CANCELLED"),
        (ev.JobCancelled(seq=5, at=1, reason="late"), "CANCELLED", "CANCELLED"),
        (ev.JobFailed(seq=5, at=1, error=Fault(code="X", message="y")), "FAILED_FINAL", "FAILED_FINAL"),
    ],
    ids=lambda value: getattr(value, "seq", value),
)
def test_each_event_tells_the_state_it_led_to(
    make_job: MakeJob, event: ev.Event, state: str, status: str
) -> None:
    """An event's state is its own, also when the same decision went on to another one."""
    data = msgspec.json.decode(body_of(make_job(URL, state=JobState.SUCCEEDED), event))["data"]
    assert (data["state"], data["status"]) == (state, status)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.DISPATCHING, JobState.IN_PROGRESS])
def test_resumed_tells_where_the_job_stands(make_job: MakeJob, state: JobState) -> None:
    """A resumed job goes back to where it was, and says so."""
    body = body_of(make_job(URL, state=state), ev.JobResumed(seq=5, at=1, paused_for=3))
    assert msgspec.json.decode(body)["data"]["state"] == state.value


def test_no_urls_no_rows(make_job: MakeJob) -> None:
    """A job without URLs costs nothing and gets the one empty tuple."""
    assert deliveries_for(None, make_job(), [ev.JobAccepted(seq=1, at=1)]) == ()


def test_one_row_for_each_event_and_url(make_job: MakeJob) -> None:
    """Every told event goes to every URL once, a URL named twice included."""
    job = make_job(URL, "https://b.example.com/", URL, state=JobState.SUCCEEDED)
    rows = deliveries_for(make_job(URL, state=JobState.DISPATCHING), job, [ACK, _step_done(), DONE])
    assert [row.delivery_id for row in rows] == ["j1.4.0", "j1.4.1", "j1.6.0", "j1.6.1"]
    assert {row.host for row in rows} == {"hooks.example.com", "b.example.com"}
    assert rows[0].body == rows[1].body
    assert [row.event_type for row in rows[1:3]] == ["lucius.job.in_progress", "lucius.job.succeeded"]


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (JobState.QUEUED, True),
        (JobState.DISPATCHING, True),
        (JobState.IN_PROGRESS, False),
        (JobState.PAUSED, False),
        (JobState.CANCELLING, False),
    ],
)
def test_only_the_first_acknowledgement_is_told(make_job: MakeJob, before: JobState, told: bool) -> None:
    """The client hears of progress once: when the acknowledgement moves the job."""
    rows = deliveries_for(make_job(URL, state=before), make_job(URL, state=JobState.IN_PROGRESS), [ACK])
    assert bool(rows) is told


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h.example.com/in", "https://h.example.com/in"),
        ("https://h.example.com:8443/in?token=s3cret", "https://h.example.com:8443/in?…"),
        ("https://h.example.com/services/T0/aVeryLongTokenIndeed", "https://h.example.com/services/T0/…"),
        ("https://user:s3cret@h.example.com/in#s3cret", "https://h.example.com/in?…"),
        ("https://h.example.com", "https://h.example.com"),
    ],
)
def test_shown_url_keeps_no_secret(url: str, expected: str) -> None:
    """Logs and views show an endpoint without its query or anything token-like."""
    assert shown(url) == expected


def _step_done() -> ev.StepSucceeded:
    return ev.StepSucceeded(seq=5, at=9, step_id="ocr", attempt_no=2, result=StepResult(status="SUCCEEDED"))


def _blank(cls: Any) -> Any:
    """An event of this class; nothing but its class matters."""
    return cls(**{field.name: None for field in msgspec.structs.fields(cls)})
