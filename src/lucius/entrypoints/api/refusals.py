"""FastAPI's own refusals, said the way Lucius says them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from lucius.core.pointer import child, shortened
from lucius.entrypoints.api.asking import services_of
from lucius.entrypoints.http.problems import MEDIA_TYPE, answer_to, encoded, problem

_CODES = {404: "UNKNOWN_ROUTE", 405: "METHOD_NOT_ALLOWED", 413: "BODY_TOO_LARGE"}
_DETAILS = {404: "There is no such route.", 405: "The route does not take this method; see Allow."}


async def on_lucius_error(request: Request, error: Exception) -> Response:
    """An error that Lucius raised on purpose."""
    status, body, headers = answer_to(error, services_of(request).new_id, request.url.path)
    answer = Response(body, status)
    answer.raw_headers.extend(headers)
    return answer


async def on_wrong_parameters(request: Request, error: Exception) -> Response:
    """Query, path or header parameters that do not fit."""
    found: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    errors = [
        {
            "pointer": shortened(_pointer(one["loc"])),
            "code": str(one["type"]).upper(),
            "detail": f"{one['msg']}.",
        }
        for one in found[:32]
    ]
    message = "The parameters of the request are wrong; see errors."
    document = problem(422, "INVALID_PARAMETER", message, instance=request.url.path, errors=errors)
    return Response(encoded(document), 422, media_type=MEDIA_TYPE)


async def on_http_error(request: Request, error: Exception) -> Response:
    """What the router refuses: unknown routes and wrong methods."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = {}
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["allow"] = ", ".join(_allowed(request))
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=headers)
    code = _CODES.get(status, HTTPStatus(status).name)
    detail = _DETAILS.get(status, HTTPStatus(status).description or HTTPStatus(status).phrase)
    document = problem(status, code, detail, instance=request.url.path)
    return Response(encoded(document), status, headers, MEDIA_TYPE)


def _allowed(request: Request) -> list[str]:
    """Every method some route takes at this path."""
    methods: set[str] = {"OPTIONS"}
    for route in request.app.routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            methods |= set(getattr(route, "methods", None) or ())
    if "GET" in methods:
        methods.add("HEAD")
    return sorted(methods)


def _pointer(place: tuple[str | int, ...]) -> str:
    pointer = ""
    for part in place:
        pointer = child(pointer, part)
    return pointer
