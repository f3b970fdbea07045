"""For machines that look after machines: health, readiness, metrics, the OpenAPI document."""

from __future__ import annotations

import orjson
from fastapi import APIRouter, Request, Response

from lucius.entrypoints.api.admin_shapes import Health, Readiness
from lucius.entrypoints.api.asking import Api, Who, reply
from lucius.entrypoints.api.openapi import answers
from lucius.entrypoints.http.readiness import takes_work
from lucius.security.principal import Role, require_everywhere

router = APIRouter(tags=["probes"], default_response_class=Response)
_FEW = (403, 500)


@router.get("/healthz", responses=answers({200: Health}, always=_FEW), operation_id="health")
async def health(api: Api) -> Response:
    """The process is alive."""
    return reply(Health(status="ok", version=api.version))


@router.get(
    "/readyz",
    responses=answers({200: Readiness}, always=_FEW)
    | {503: answers({503: Readiness}, always=())[503] | {"description": "Not ready, and why."}},
    operation_id="ready",
)
async def ready(api: Api) -> Response:
    """Whether work is taken: 200, or 503 with the parts that are not up."""
    components = api.ready()
    good = takes_work(components)
    shown = Readiness(status="ready" if good else "not_ready", components=components)
    return reply(shown, 200 if good else 503)


@router.get(
    "/metrics",
    responses=answers(
        {200: None},
        also={
            200: {
                "text/plain": {"type": "string"},
                "application/openmetrics-text": {"type": "string"},
            }
        },
    ),
    operation_id="metrics",
)
async def metrics(api: Api, who: Who, request: Request) -> Response:
    """Prometheus metrics. They concern all tenants, so the credential must."""
    require_everywhere(who, Role.READ)
    body, content_type = await api.metrics_text(request.headers.get("accept", ""))
    return Response(body, media_type=content_type)


@router.get(
    "/openapi.json",
    responses=answers({200: None}, always=_FEW, also={200: {"application/json": {"type": "object"}}}),
    operation_id="openapi",
)
async def openapi(request: Request) -> Response:
    """This document."""
    return Response(orjson.dumps(request.app.openapi()), media_type="application/json")
