"""What FastAPI routes ask of a request: the services, who is calling, which job."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Path, Request, Response

from lucius.entrypoints.api.door import Call
from lucius.entrypoints.api.services import Services
from lucius.entrypoints.http.strict import read
from lucius.security.principal import Principal, missing
from lucius.wire.strict_json import MAX_BYTES

T = TypeVar("T")
_JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def services_of(request: Request) -> Services:
    """The record the application was made with."""
    found: Services = request.app.state.services
    return found


async def principal_of(request: Request) -> Principal:
    """Who is calling."""
    return await Call(services_of(request), request.scope, request.receive).principal()


def job_id_of(
    who: Annotated[Principal, Depends(principal_of)],  # noqa: ARG001 - strangers learn nothing of ids
    job_id: Annotated[str, Path(alias="jobId", description="The id that came with the 202.")],
) -> str:
    """A job id; one that cannot be is as unknown as any other."""
    if not _JOB_ID.fullmatch(job_id):
        raise missing("job", job_id)
    return job_id


Api = Annotated[Services, Depends(services_of)]
Who = Annotated[Principal, Depends(principal_of)]
JobId = Annotated[str, Depends(job_id_of)]


def reply(value: Any, status: int = 200, **headers: str) -> Response:
    """A JSON answer."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(msgspec.json.encode(value), status, named, "application/json")


async def optional_body(request: Request, shape: type[T]) -> T:
    """The JSON body, or the empty request where none came."""
    call = Call(services_of(request), request.scope, request.receive)
    raw = await call.raw_body(MAX_BYTES)
    if not raw and call.header(b"content-type") in (None, "application/json"):
        return read(b"{}", shape)
    call.check_content_type()
    return read(raw, shape)
