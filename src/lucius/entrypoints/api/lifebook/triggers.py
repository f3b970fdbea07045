"""Schedules and hooks: make, list, pause, resume, remove; and the door where hooks are called.

The caller of a hook has no other credential than its signature. A hook that does not exist and a signature
that is wrong or stale give the same bytes.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from lucius.entrypoints.api.asking import Api, Who, reply
from lucius.entrypoints.api.lifebook import trigger_shapes as shapes
from lucius.entrypoints.api.lifebook.asking import Workspace, body_in, call_of, desk_for, workspace_for
from lucius.entrypoints.api.lifebook.making import BODY_ERRORS
from lucius.entrypoints.api.openapi import NOBODY, answers, body_of
from lucius.entrypoints.http.problems import encoded, headers_of, problem
from lucius.errors import Unauthenticated
from lucius.lifebook.desk import LifebookDesk
from lucius.lifebook.ports.triggers import Hook, Schedule
from lucius.lifebook.triggers.hooks import MAX_BODY_BYTES
from lucius.security.principal import ANONYMOUS, Principal, Role, missing, sees

router = APIRouter(prefix="/v1/lifebook", tags=["lifebook"], default_response_class=Response)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
ScheduleId = Annotated[str, Path(alias="schedule_id", description="The id of the schedule.")]
HookId = Annotated[str, Path(alias="hook_id", description="The id of the hook.")]
_SIGNED = ("webhook-id", "webhook-timestamp", "webhook-signature")
_CALL: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
    "parameters": [
        {"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in _SIGNED
    ],
    "security": NOBODY,
}
_SCHEDULE_EXAMPLE = {"workflow_id": "example-four-steps", "cron": "30 6 * * MON-FRI"}


@router.post(
    "/workspaces/{workspace_id}/schedules",
    status_code=201,
    responses=answers({201: shapes.LifebookSchedule}, *BODY_ERRORS, 404, 405, 409),
    openapi_extra=body_of(shapes.LifebookScheduleRequest, example=_SCHEDULE_EXAMPLE),
    operation_id="createSchedule",
)
async def create_schedule(api: Api, who: Who, workspace_id: Workspace, request: Request) -> Response:
    """Run a workflow at the times of a cron expression."""
    desk = desk_for(api, who, Role.OPERATE)
    workspace = workspace_for(who, Role.OPERATE, workspace_id)
    asked = await body_in(request, shapes.LifebookScheduleRequest)
    made = await desk.triggers.make_schedule(
        workspace_id=workspace,
        user_id=asked.user_id or who.subject,
        workflow_id=asked.workflow_id,
        cron=asked.cron,
        given=asked.input,
    )
    return reply(shapes.schedule_view(made), 201)


@router.get(
    "/workspaces/{workspace_id}/schedules",
    responses=answers({200: shapes.LifebookSchedules}, 404, 405),
    operation_id="listSchedules",
)
async def list_schedules(api: Api, who: Who, workspace_id: Workspace) -> Response:
    """Every schedule of a workspace."""
    desk = desk_for(api, who, Role.READ)
    found = await desk.triggers.schedules(workspace_for(who, Role.READ, workspace_id))
    return reply(shapes.LifebookSchedules(schedules=[shapes.schedule_view(one) for one in found]))


@router.post(
    "/schedules/{schedule_id}:pause",
    responses=answers({200: shapes.LifebookSchedule}, 404, 405, 409),
    operation_id="pauseSchedule",
)
async def pause_schedule(api: Api, who: Who, schedule_id: ScheduleId) -> Response:
    """Fire nothing until it is resumed; a second time changes nothing."""
    desk = desk_for(api, who, Role.OPERATE)
    found = await _schedule_for(desk, who, schedule_id)
    return reply(shapes.schedule_view(await desk.triggers.pause(found.schedule_id)))


@router.post(
    "/schedules/{schedule_id}:resume",
    responses=answers({200: shapes.LifebookSchedule}, 404, 405, 409),
    operation_id="resumeSchedule",
)
async def resume_schedule(api: Api, who: Who, schedule_id: ScheduleId) -> Response:
    """Go on with the next time from now; what was missed is not fired."""
    desk = desk_for(api, who, Role.OPERATE)
    found = await _schedule_for(desk, who, schedule_id)
    return reply(shapes.schedule_view(await desk.triggers.resume(found.schedule_id)))


@router.delete(
    "/schedules/{schedule_id}",
    status_code=204,
    responses=answers({204: None}, 404, 405),
    operation_id="deleteSchedule",
)
async def delete_schedule(api: Api, who: Who, schedule_id: ScheduleId) -> Response:
    """Forget a schedule; the runs it started go on."""
    desk = desk_for(api, who, Role.OPERATE)
    await desk.triggers.remove_schedule((await _schedule_for(desk, who, schedule_id)).schedule_id)
    return Response(status_code=204)


@router.post(
    "/workspaces/{workspace_id}/hooks",
    status_code=201,
    responses=answers({201: shapes.LifebookNewHook}, *BODY_ERRORS, 404, 405, 409),
    openapi_extra=body_of(shapes.LifebookHookRequest, example={"workflow_id": "example-four-steps"}),
    operation_id="createHook",
)
async def create_hook(api: Api, who: Who, workspace_id: Workspace, request: Request) -> Response:
    """A path for signed requests, and the secret to sign them with, which is told this once."""
    desk = desk_for(api, who, Role.OPERATE)
    workspace = workspace_for(who, Role.OPERATE, workspace_id)
    asked = await body_in(request, shapes.LifebookHookRequest)
    made = await desk.triggers.make_hook(
        workspace_id=workspace,
        user_id=asked.user_id or who.subject,
        workflow_id=asked.workflow_id,
        given=asked.input,
    )
    return reply(shapes.new_hook_view(made), 201)


@router.get(
    "/workspaces/{workspace_id}/hooks",
    responses=answers({200: shapes.LifebookHooks}, 404, 405),
    operation_id="listHooks",
)
async def list_hooks(api: Api, who: Who, workspace_id: Workspace) -> Response:
    """Every hook of a workspace, without secrets."""
    desk = desk_for(api, who, Role.READ)
    found = await desk.triggers.hooks(workspace_for(who, Role.READ, workspace_id))
    return reply(shapes.LifebookHooks(hooks=[shapes.hook_view(one) for one in found]))


@router.delete(
    "/hooks/{hook_id}",
    status_code=204,
    responses=answers({204: None}, 404, 405),
    operation_id="deleteHook",
)
async def delete_hook(api: Api, who: Who, hook_id: HookId) -> Response:
    """Forget a hook: from now on its callers are strangers."""
    desk = desk_for(api, who, Role.OPERATE)
    await desk.triggers.remove_hook((await _hook_for(desk, who, hook_id)).hook_id)
    return Response(status_code=204)


@router.post(
    "/hooks/{hook_id}",
    status_code=202,
    responses=answers({202: shapes.LifebookStarted}, *BODY_ERRORS, 402, 404, 405),
    openapi_extra=_CALL,
    operation_id="callHook",
)
async def call_hook(api: Api, hook_id: HookId, request: Request) -> Response:
    """Start a run with a request signed as Standard Webhooks has it; its body becomes `payload`."""
    desk = desk_for(api, ANONYMOUS, None)
    call = call_of(request)
    body = await call.body(MAX_BODY_BYTES)
    headers = {name: call.header(name.encode()) or "" for name in _SIGNED}
    try:
        created = await desk.triggers.receive(hook_id, headers, body)
    except Unauthenticated as error:
        # Without the path, so that every hook refuses in the same bytes.
        answer = Response(encoded(problem(error.status, error.code, error.message)), error.status)
        answer.raw_headers.extend(headers_of(error.status))
        return answer
    return reply(shapes.LifebookStarted(job_id=created.run.job_id, duplicate=not created.fresh), 202)


async def _schedule_for(desk: LifebookDesk, who: Principal, schedule_id: str) -> Schedule:
    """A schedule the principal may see; missing, foreign and impossible ones are one answer."""
    found = await desk.triggers.schedule(schedule_id) if _ID.fullmatch(schedule_id) else None
    if found is None or not sees(who, found.workspace_id):
        raise missing("schedule", schedule_id)
    return found


async def _hook_for(desk: LifebookDesk, who: Principal, hook_id: str) -> Hook:
    """A hook the principal may see; missing, foreign and impossible ones are one answer."""
    found = await desk.triggers.hook(hook_id) if _ID.fullmatch(hook_id) else None
    if found is None or not sees(who, found.workspace_id):
        raise missing("hook", hook_id)
    return found
