"""Runs: create, look, list, cancel, retry; and the workflows there are."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from lucius.entrypoints.api.asking import Api, Who, optional_body, reply
from lucius.entrypoints.api.lifebook import requests, shapes
from lucius.entrypoints.api.lifebook.asking import (
    JobId,
    Workspace,
    body_in,
    call_of,
    desk_for,
    run_for,
    workspace_for,
)
from lucius.entrypoints.api.lifebook.making import (
    BODY_ERRORS,
    key_of,
    known,
    made,
    making,
    still_registered,
    trace_of,
)
from lucius.entrypoints.api.lifebook.showing import run_view, summary_view, workflow_view
from lucius.entrypoints.api.listing import Paging
from lucius.entrypoints.api.openapi import answers, body_of
from lucius.lifebook.usecases.create import RunRequest
from lucius.security.principal import Role
from lucius.security.redaction import redact_text

router = APIRouter(prefix="/v1/lifebook", tags=["lifebook"], default_response_class=Response)
_HEADERS = [
    {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
        "description": "The same as `idempotency_key` in the body; both and different: 422.",
    },
    {"name": "traceparent", "in": "header", "required": False, "schema": {"type": "string"}},
]
_EXAMPLE = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "example-four-steps"}


@router.post(
    "/jobs",
    status_code=201,
    responses=making(),
    openapi_extra=body_of(requests.LifebookCreate, example=_EXAMPLE) | {"parameters": _HEADERS},
    operation_id="createRun",
)
async def create_run(api: Api, who: Who, request: Request) -> Response:
    """Create a run and reserve its credits: 201, or 200 with the run that has the key already."""
    desk = desk_for(api, who, Role.SUBMIT)
    asked = await body_in(request, requests.LifebookCreate)
    call = call_of(request)
    wanted = RunRequest(
        workspace_id=workspace_for(who, Role.SUBMIT, asked.workspace_id),
        user_id=asked.user_id,
        workflow_id=known(desk, asked.workflow_id),
        trigger_type=asked.trigger_type,
        input=asked.input,
        key=key_of(call, asked.idempotency_key),
        trace_id=trace_of(call),
    )
    return made(api, await desk.create.create(wanted))


@router.get("/jobs/{job_id}", responses=answers({200: shapes.LifebookRun}, 404, 405), operation_id="getRun")
async def get_run(api: Api, who: Who, job_id: JobId) -> Response:
    """One run, by the contract's names, and why it stands where it stands."""
    desk = desk_for(api, who, Role.READ)
    return reply(run_view(await run_for(desk, who, job_id), api.clock()))


@router.get(
    "/workspaces/{workspace_id}/jobs",
    responses=answers({200: shapes.LifebookPage}, 400, 404, 405),
    operation_id="listRuns",
)
async def list_runs(
    api: Api, who: Who, workspace_id: Workspace, paging: Annotated[Paging, Query()]
) -> Response:
    """The runs of a workspace, newest first."""
    desk = desk_for(api, who, Role.READ)
    workspace = workspace_for(who, Role.READ, workspace_id)
    page = await desk.look.runs(workspace, limit=paging.limit, cursor=paging.cursor)
    return reply(shapes.LifebookPage(jobs=[summary_view(one) for one in page.runs], next_cursor=page.cursor))


@router.post(
    "/jobs/{job_id}:cancel",
    responses=answers({200: shapes.LifebookRun}, *BODY_ERRORS, 404, 405, 409),
    openapi_extra=body_of(requests.LifebookCancel, required=False),
    operation_id="cancelRun",
)
async def cancel_run(api: Api, who: Who, job_id: JobId, request: Request) -> Response:
    """Cancel a run at once; again is no error. A worker that is at it learns with its next sign of life."""
    desk = desk_for(api, who, Role.OPERATE)
    asked = await optional_body(request, requests.LifebookCancel)
    run = await run_for(desk, who, job_id)
    canceled = await desk.control.cancel(run, reason=redact_text(asked.reason or ""))
    return reply(run_view(canceled, api.clock()))


@router.post(
    "/jobs/{job_id}:retry",
    status_code=201,
    responses=making(404, 405, 409),
    openapi_extra=body_of(requests.LifebookRetry, required=False),
    operation_id="retryRun",
)
async def retry_run(api: Api, who: Who, job_id: JobId, request: Request) -> Response:
    """Run one that has ended again, as a new run from its first step; once for each run."""
    desk = desk_for(api, who, Role.OPERATE)
    asked = await optional_body(request, requests.LifebookRetry)
    run = await run_for(desk, who, job_id)
    with still_registered():
        return made(api, await desk.control.retry(run, user_id=asked.user_id or who.subject))


@router.get("/workflows", responses=answers({200: shapes.LifebookWorkflows}), operation_id="listWorkflows")
async def list_workflows(api: Api, who: Who) -> Response:
    """What can be run: every workflow with its steps and what they may cost."""
    desk = desk_for(api, who, None)
    found = [workflow_view(workflow) for workflow in desk.registry.all()]
    return reply(shapes.LifebookWorkflows(workflows=found))
