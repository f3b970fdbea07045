"""What lifebook routes ask of a request: the desk, the run, the workspace, the body."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

from fastapi import Path, Request

from lucius.core.routing import normalise
from lucius.entrypoints.api.asking import services_of
from lucius.entrypoints.api.door import Call
from lucius.entrypoints.api.listing import TENANT
from lucius.entrypoints.api.services import Services
from lucius.entrypoints.http.strict import read
from lucius.errors import LuciusError
from lucius.lifebook.core.run import Run
from lucius.lifebook.desk import LifebookDesk
from lucius.security.principal import Principal, Role, missing, require, require_everywhere, sees

T = TypeVar("T")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

JobId = Annotated[str, Path(alias="job_id", description="The id of the run.")]
Workspace = Annotated[str, Path(alias="workspace_id", pattern=TENANT, description="A workspace is a tenant.")]


class LifebookOffError(LuciusError):
    """This Lucius serves no lifebook runs."""

    code = "LIFEBOOK_OFF"
    status = 503


def desk_for(api: Services, who: Principal, role: Role | None, *, everywhere: bool = False) -> LifebookDesk:
    """The desk, for somebody who holds the role; only they learn whether there is one."""
    if role is not None:
        (require_everywhere if everywhere else require)(who, role)
    if api.lifebook is None:
        raise LifebookOffError(
            "This Lucius serves no lifebook runs; start it with LUCIUS_LIFEBOOK_BACKEND=sqlite or aws."
        )
    return api.lifebook


async def run_for(desk: LifebookDesk, who: Principal, job_id: str) -> Run:
    """A run the principal may see. Ids that cannot be, missing runs and foreign ones are one answer.

    The table holds more than runs, under names that are no UUIDs: those are not even looked up.
    """
    if not _UUID.fullmatch(job_id):
        raise missing("run", job_id)
    run = await desk.look.run(job_id)
    if not sees(who, run.workspace_id):
        raise missing("run", job_id)
    return run


def workspace_for(who: Principal, role: Role, workspace_id: str) -> str:
    """The one spelling of a workspace the principal holds the role in; raises `Forbidden`."""
    workspace = normalise(workspace_id)
    require(who, role, workspace)
    return workspace


def call_of(request: Request) -> Call:
    """The request as the door reads it."""
    return Call(services_of(request), request.scope, request.receive)


async def body_in(request: Request, shape: type[T]) -> T:
    """The JSON body, which must be there."""
    return read(await call_of(request).body(), shape)
