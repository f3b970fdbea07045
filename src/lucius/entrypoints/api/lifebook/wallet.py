"""The credits of a workspace: look at them, add some."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from lucius.entrypoints.api.asking import Api, Who, reply
from lucius.entrypoints.api.lifebook import requests, shapes
from lucius.entrypoints.api.lifebook.asking import Workspace, body_in, desk_for, workspace_for
from lucius.entrypoints.api.lifebook.making import BODY_ERRORS
from lucius.entrypoints.api.lifebook.showing import wallet_view
from lucius.entrypoints.api.openapi import answers, body_of
from lucius.entrypoints.http.strict import within
from lucius.lifebook.core.wallet import hundredths_of
from lucius.security.principal import Role

router = APIRouter(
    prefix="/v1/lifebook/workspaces/{workspace_id}", tags=["lifebook"], default_response_class=Response
)


@router.get("/wallet", responses=answers({200: shapes.LifebookWallet}, 404, 405), operation_id="getWallet")
async def get_wallet(api: Api, who: Who, workspace_id: Workspace) -> Response:
    """What is free, what is held for open runs, what is spent."""
    desk = desk_for(api, who, Role.READ)
    return reply(wallet_view(await desk.look.wallet(workspace_for(who, Role.READ, workspace_id))))


@router.post(
    "/wallet:deposit",
    responses=answers({200: shapes.LifebookWallet}, *BODY_ERRORS, 404, 405, 409),
    openapi_extra=body_of(requests.LifebookDeposit, example={"credits": 100, "deposit_id": "invoice-17"}),
    operation_id="depositCredits",
)
async def deposit_credits(api: Api, who: Who, workspace_id: Workspace, request: Request) -> Response:
    """Add credits, once for each deposit id; the same id with another amount is refused."""
    desk = desk_for(api, who, Role.ADMIN, everywhere=True)
    asked = await body_in(request, requests.LifebookDeposit)
    with within("/credits"):
        amount = hundredths_of(asked.credits)
    workspace = workspace_for(who, Role.ADMIN, workspace_id)
    return reply(wallet_view(await desk.look.deposit(workspace, amount, deposit_id=asked.deposit_id)))
