"""The control room: outbox, dead letters, lanes, limits, protocols, drift, reload."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from lucius.entrypoints.api import admin_shapes as shapes
from lucius.entrypoints.api.asking import Api, JobId, Who, optional_body, reply
from lucius.entrypoints.api.commands import accepted_view, shares
from lucius.entrypoints.api.listing import TENANT, TenantPaging
from lucius.entrypoints.api.openapi import answers, body_of
from lucius.entrypoints.api.protocols import protocol_list
from lucius.entrypoints.api.requests import OutboxRetry, RedriveRequest
from lucius.entrypoints.api.shapes import Accepted, Share
from lucius.entrypoints.http.problems import refusal
from lucius.ports.ledger import DeadLetter
from lucius.security.principal import Role, require
from lucius.security.redaction import redact_text
from lucius.usecases.admin import Redrive
from lucius.wire.timestamps import iso

router = APIRouter(prefix="/v1/admin", tags=["admin"], default_response_class=Response)
TenantId = Annotated[str, Query(pattern=TENANT)]
_BODY_ERRORS = (400, 413, 415)


@router.post(
    "/outbox/retry",
    responses=answers({200: shapes.Offered}, 404, *_BODY_ERRORS),
    openapi_extra=body_of(OutboxRetry, required=False),
    operation_id="retryOutbox",
)
async def retry_outbox(api: Api, who: Who, request: Request) -> Response:
    """Send directives that the bus has not taken, now: of the jobs named, or of all."""
    require(who, Role.ADMIN)
    asked = await optional_body(request, OutboxRetry)
    return reply(shapes.Offered(offered=await api.admin.republish(who, asked.job_ids)))


@router.get(
    "/dead-letters", responses=answers({200: shapes.DeadLetterPage}, 400), operation_id="listDeadLetters"
)
async def list_dead_letters(api: Api, who: Who, filters: Annotated[TenantPaging, Query()]) -> Response:
    """Jobs that failed for good, newest first."""
    found = await api.admin.dead_letters(who, filters.query())
    cursor = filters.next_cursor([letter.job_id for letter in found])
    page = [_dead_letter(letter) for letter in found]
    return reply(shapes.DeadLetterPage(dead_letters=page, next_cursor=cursor))


@router.post(
    "/dead-letters/{jobId}:redrive",
    status_code=202,
    responses=answers({202: Accepted}, 404, 405, 409, 429),
    operation_id="redriveDeadLetter",
)
async def redrive_one(api: Api, who: Who, job_id: JobId) -> Response:
    """Run a dead job again as a new one that starts at the failed step."""
    opened = await api.admin.redrive(who, job_id)
    return reply(accepted_view(opened), 202, location=f"/v1/jobs/{opened.job.job_id}")


@router.post(
    "/dead-letters:redrive",
    responses=answers({200: shapes.RedriveAnswer}, *_BODY_ERRORS),
    openapi_extra=body_of(RedriveRequest, required=False),
    operation_id="redriveDeadLetters",
)
async def redrive_many(api: Api, who: Who, request: Request) -> Response:
    """Run the dead jobs of one page again; page on with the list's cursor."""
    require(who, Role.ADMIN)
    asked = await optional_body(request, RedriveRequest)
    # Already checked when it was read: a second judge could only disagree.
    page = TenantPaging.model_construct(tenant_id=asked.tenant_id, cursor=asked.cursor, limit=asked.limit)
    results = await api.admin.redrive_many(who, page.query(), asked.error_code)
    items = [_redriven(one) for one in results]
    count = sum(item["job"] is not None for item in items)
    return reply({"redriven": count, "results": items})


@router.get("/lanes", responses=answers({200: shapes.LanesView}), operation_id="getLanes")
async def get_lanes(
    api: Api,
    who: Who,
    tenant_id: TenantId,
    doc_id: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
) -> Response:
    """Where the messages of a tenant and document go, and what waits."""
    found = await api.admin.lanes(who, tenant_id, doc_id)
    lanes = [
        shapes.LaneView(
            mode=lane.mode,
            lane=lane.lane,
            routing_key_used=lane.routing_key_used,
            topic=lane.topic,
            reply_topic=lane.reply_topic,
        )
        for lane in found.lanes
    ]
    return reply(
        shapes.LanesView(
            tenant_id=found.tenant_id,
            doc_id=found.doc_id,
            lanes=lanes,
            unsent=found.unsent,
            backlog=found.backlog,
        )
    )


@router.get("/limits", responses=answers({200: shapes.LimitsView}), operation_id="getLimits")
async def get_limits(
    api: Api, who: Who, tenant_id: Annotated[str | None, Query(pattern=TENANT)] = None
) -> Response:
    """Configured limits against what is in use."""
    found = api.admin.limits(who, tenant_id)
    tenants = [
        shapes.TenantLimitsView(tenant_id=one.tenant_id, limits=shares(one.limits, one.usage))
        for one in found
    ]
    system = None
    if who.tenants is None:
        limits, usage = api.admin.system()
        system = Share(in_use=usage.system_jobs, limit=limits.system_jobs)
    return reply(shapes.LimitsView(system=system, tenants=tenants))


@router.get("/protocols", responses=answers({200: shapes.ProtocolList}), operation_id="adminListProtocols")
async def get_protocols(api: Api, who: Who) -> Response:
    """Every recipe, as configured now."""
    require(who, Role.ADMIN)
    return reply(protocol_list(api.admin.protocols()))


@router.get("/drift", responses=answers({200: shapes.DriftView}), operation_id="checkDrift")
async def get_drift(api: Api, who: Who) -> Response:
    """Compare what should agree: the ledger with itself, with the relay and with the bus."""
    found = await api.admin.drift(who)
    return reply(
        shapes.DriftView(
            ok=found.ok,
            checked_at=iso(found.checked_at),
            jobs_read=found.jobs_read,
            complete=found.complete,
            checks=[
                shapes.CheckView(
                    name=check.name,
                    ok=check.ok,
                    detail=check.detail,
                    figures=check.figures,
                    job_ids=list(check.job_ids),
                )
                for check in found.checks
            ],
        )
    )


@router.post("/reload", responses=answers({200: shapes.ReloadView}), operation_id="reload")
async def reload(api: Api, who: Who) -> Response:
    """Read the configuration again. A bad one changes nothing, and the answer says what is wrong."""
    found = await api.admin.reload(who)
    problems = [
        shapes.ConfigProblemView(
            file=one.file,
            line=one.line,
            column=one.column,
            pointer=one.pointer,
            message=one.message,
            remedy=one.remedy,
        )
        for one in found.problems
    ]
    return reply(
        shapes.ReloadView(
            outcome=found.outcome.value,
            version=found.version,
            checked_at=iso(found.checked_at),
            problems=problems,
        )
    )


def _dead_letter(letter: DeadLetter) -> shapes.DeadLetterView:
    return shapes.DeadLetterView(
        job_id=letter.job_id,
        tenant_id=letter.tenant_id,
        step_id=letter.step_id,
        error_code=letter.error.code,
        error_message=redact_text(letter.error.message),
        dead_at=iso(letter.dead_at),
        redriven_as=letter.redriven_as,
    )


def _redriven(one: Redrive) -> dict[str, object]:
    if one.opened is not None:
        return {"jobId": one.job_id, "status": 202, "job": accepted_view(one.opened), "problem": None}
    problem = refusal(one.refusal) if one.refusal is not None else {}
    return {"jobId": one.job_id, "status": problem.get("status", 500), "job": None, "problem": problem}
