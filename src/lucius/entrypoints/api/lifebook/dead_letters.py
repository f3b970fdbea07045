"""Dead letters of lifebook runs, of all workspaces: look, redrive, discard."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from lucius.entrypoints.api.asking import Api, Who, optional_body, reply
from lucius.entrypoints.api.lifebook import requests, shapes
from lucius.entrypoints.api.lifebook.asking import JobId, desk_for, run_for
from lucius.entrypoints.api.lifebook.making import made, making, still_registered
from lucius.entrypoints.api.lifebook.showing import letter_view
from lucius.entrypoints.api.openapi import answers, body_of
from lucius.lifebook.duties.dead_letters import MOST
from lucius.security.principal import Role

router = APIRouter(prefix="/v1/lifebook/dead-letters", tags=["lifebook"], default_response_class=Response)
Limit = Annotated[int, Query(ge=1, le=MOST)]
LetterId = Annotated[
    str, Path(alias="letter_id", max_length=128, description="The id of the run, or of the message.")
]


@router.get("", responses=answers({200: shapes.LifebookLetters}), operation_id="listRunDeadLetters")
async def list_letters(api: Api, who: Who, limit: Limit = 100) -> Response:
    """What is among the dead letters now, in no order. They stay there."""
    desk = desk_for(api, who, Role.OPERATE, everywhere=True)
    found = await desk.dead_letters.list(limit)
    return reply(shapes.LifebookLetters(dead_letters=[letter_view(letter) for letter in found]))


@router.post(
    "/{job_id}:redrive",
    status_code=201,
    responses=making(404, 405, 409),
    openapi_extra=body_of(requests.LifebookRetry, required=False),
    operation_id="redriveRun",
)
async def redrive_run(api: Api, who: Who, job_id: JobId, request: Request) -> Response:
    """Run a dead run again as a new one, and delete its dead letters."""
    desk = desk_for(api, who, Role.OPERATE, everywhere=True)
    asked = await optional_body(request, requests.LifebookRetry)
    run = await run_for(desk, who, job_id)
    with still_registered():
        created = await desk.dead_letters.redrive(run.job_id, user_id=asked.user_id or who.subject)
    return made(api, created)


@router.post(
    "/{letter_id}:discard",
    responses=answers({200: shapes.LifebookDiscarded}, 404, 405),
    operation_id="discardRunDeadLetters",
)
async def discard_letters(api: Api, who: Who, letter_id: LetterId) -> Response:
    """Delete the dead letters of a run, or one message that names no run; its run stays as it is."""
    desk = desk_for(api, who, Role.OPERATE, everywhere=True)
    return reply(shapes.LifebookDiscarded(discarded=await desk.dead_letters.discard(letter_id)))
