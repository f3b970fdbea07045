"""Jobs: look at them, follow them, control them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from lucius.core.states import JobState
from lucius.entrypoints.api import shapes
from lucius.entrypoints.api.asking import Api, JobId, Who, optional_body, reply
from lucius.entrypoints.api.commands import accepted_view, shares
from lucius.entrypoints.api.listing import JobFilters
from lucius.entrypoints.api.openapi import answers, body_of
from lucius.entrypoints.api.requests import CancelRequest
from lucius.entrypoints.api.stream import MEDIA_TYPE, last_event_id, stream, wants_stream
from lucius.ports.deliveries import DeliveryView
from lucius.security.principal import Role, require
from lucius.security.redaction import redact, redact_text
from lucius.usecases.explain import Explanation
from lucius.wire.timestamps import iso
from lucius.wire.views import JobView, event_view, job_status, job_summary, job_view, moment, step_views

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], default_response_class=Response)
After = Annotated[int, Query(ge=0, le=2**53, description="Events behind this number")]
EventLimit = Annotated[int, Query(ge=1, le=1000)]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=32, description="For event streams: the last id that was seen"),
]


@router.get("", responses=answers({200: shapes.JobPage}, 400), operation_id="listJobs")
async def list_jobs(api: Api, who: Who, filters: Annotated[JobFilters, Query()]) -> Response:
    """Jobs newest first, of the tenants the credential sees."""
    query = filters.query()
    if filters.states() is None:  # the two filters exclude each other; the credential is still asked
        require(who, Role.READ)
        return reply(shapes.JobPage(jobs=[], next_cursor=None))
    found = await api.query.jobs(query, who)
    cursor = filters.next_cursor([job.job_id for job in found])
    return reply(shapes.JobPage(jobs=[job_summary(job, redact) for job in found], next_cursor=cursor))


@router.get("/{jobId}", responses=answers({200: JobView}, 404, 405), operation_id="getJob")
async def get_job(api: Api, who: Who, job_id: JobId) -> Response:
    """One job with its steps."""
    return reply(job_view(await api.query.job(job_id, who), redact))


@router.get("/{jobId}/steps", responses=answers({200: shapes.StepList}, 404, 405), operation_id="getSteps")
async def get_steps(api: Api, who: Who, job_id: JobId) -> Response:
    """The steps of a job, in order."""
    job = await api.query.job(job_id, who)
    return reply(shapes.StepList(job_id=job_id, steps=step_views(job, redact)))


@router.get(
    "/{jobId}/events",
    responses=answers(
        {200: shapes.EventPage, 204: None}, 404, 405, also={200: {MEDIA_TYPE: {"type": "string"}}}
    ),
    operation_id="getEvents",
)
async def get_events(  # noqa: PLR0917 - FastAPI passes them by name
    api: Api,
    who: Who,
    job_id: JobId,
    request: Request,
    after: After = 0,
    limit: EventLimit = 500,
    last_id: LastEventId = None,
) -> Response:
    """A job's story: a page of it as JSON, or all of it as it happens with `Accept: text/event-stream`."""
    if wants_stream(request.headers.get("accept")):
        seen = last_event_id(last_id)
        job = await api.query.job(job_id, who)
        return await stream(api.query, job, after=after if seen is None else seen, resumed=seen is not None)
    job, events = await api.query.events(job_id, who, after=after, limit=limit)
    last = events[-1].seq if events else after
    return reply(
        shapes.EventPage(
            job_id=job_id,
            state=job.state,
            events=[event_view(event, redact) for event in events],
            next_after=last,
            more=len(events) == limit,
        )
    )


@router.get(
    "/{jobId}/explain", responses=answers({200: shapes.ExplanationView}, 404, 405), operation_id="explainJob"
)
async def explain_job(api: Api, who: Who, job_id: JobId) -> Response:
    """Why the job stands where it stands."""
    return reply(_explanation(await api.explain.explain(job_id, who)))


@router.get(
    "/{jobId}/deliveries",
    responses=answers({200: shapes.DeliveryList}, 404, 405),
    operation_id="getDeliveries",
)
async def get_deliveries(api: Api, who: Who, job_id: JobId) -> Response:
    """What became of the webhooks of a job."""
    found = await api.query.deliveries(job_id, who)
    return reply(shapes.DeliveryList(job_id=job_id, deliveries=[_delivery(one) for one in found]))


@router.post(
    "/{jobId}:cancel",
    status_code=202,
    responses=answers({200: JobView, 202: JobView}, 400, 404, 405, 409, 413, 415),
    openapi_extra=body_of(CancelRequest, required=False),
    operation_id="cancelJob",
)
async def cancel_job(
    api: Api,
    who: Who,
    job_id: JobId,
    request: Request,
    force: Annotated[bool, Query(description="Do not wait for the step in flight")] = False,
) -> Response:
    """Stop a job: 200 when it is cancelled, 202 while the step in flight may finish."""
    asked = await optional_body(request, CancelRequest)
    reason = None if asked.reason is None else redact_text(asked.reason)
    job = await api.control.cancel(job_id, who, force=force, reason=reason)
    return reply(job_view(job, redact), 200 if job.terminal else 202)


@router.post(
    "/{jobId}:pause",
    status_code=202,
    responses=answers({200: JobView, 202: JobView}, 404, 405, 409),
    operation_id="pauseJob",
)
async def pause_job(api: Api, who: Who, job_id: JobId) -> Response:
    """Start nothing new: 200 when the job is paused, 202 while the step in flight may finish."""
    job = await api.control.pause(job_id, who)
    return reply(job_view(job, redact), 202 if job.state is JobState.PAUSING else 200)


@router.post(
    "/{jobId}:resume",
    responses=answers({200: JobView}, 404, 405, 409, 429),
    operation_id="resumeJob",
)
async def resume_job(api: Api, who: Who, job_id: JobId) -> Response:
    """Go on after a pause. Needs a free slot, because a paused job gave its own back."""
    return reply(job_view(await api.control.resume(job_id, who), redact))


@router.post(
    "/{jobId}:retry",
    status_code=202,
    responses=answers({202: shapes.Accepted}, 404, 405, 409, 429),
    operation_id="retryJob",
)
async def retry_job(api: Api, who: Who, job_id: JobId) -> Response:
    """Run a failed or cancelled job again as a new one that starts at the failed step."""
    opened = await api.control.retry(job_id, who)
    return reply(accepted_view(opened), 202, location=f"/v1/jobs/{opened.job.job_id}")


def _explanation(found: Explanation) -> shapes.ExplanationView:
    job, blocking, queue = found.job, found.blocking, found.queue
    return shapes.ExplanationView(
        job_id=job.job_id,
        state=job.state,
        status=job_status(job.state),
        because=found.because,
        blocking=shapes.BlockingView(
            kind=blocking.kind,
            since=iso(blocking.since),
            step_id=blocking.step_id,
            attempt_no=blocking.attempt_no,
        ),
        lane=job.order.routing.lane,
        topic=job.order.routing.topic,
        queue=shapes.QueueView(
            position_estimate=queue.position_estimate,
            ahead_of_tenant=queue.ahead_of_tenant,
            service_backlog=queue.service_backlog,
        ),
        limits=shares(found.limits, found.usage),
        next_due_at=moment(found.next_due_at),
        next_action=found.next_action,
        last_error=redact(found.last_error),
        history=[event_view(event, redact) for event in found.history],
    )


def _delivery(one: DeliveryView) -> shapes.DeliveryItem:
    return shapes.DeliveryItem(
        delivery_id=one.delivery_id,
        seq=one.seq,
        event_type=one.event_type,
        url=one.url,
        state=one.state.value,
        tries=one.tries,
        created_at=iso(one.created_at),
        next_at=moment(one.next_at),
        attempts=[
            shapes.DeliveryTry(
                at=iso(each.at),
                took_ms=each.took_ms,
                status=each.status,
                code=each.code,
                error=None if each.error is None else redact_text(each.error),
            )
            for each in one.attempts
        ],
    )
