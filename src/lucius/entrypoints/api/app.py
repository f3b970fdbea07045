"""The HTTP API as one application.

    request ─▶ busy path? ─▶ Plain handler ────────────────────▶ answer
                  └─ no ──▶ Guard ─▶ FastAPI ─▶ route ─▶ use case ─▶ answer

The busiest routes are looked up in a dictionary before FastAPI's router and served without it; they
are registered there too, for the OpenAPI document. Every refusal, FastAPI's own included, leaves as a
problem document. There is no CORS: browsers talk to Lucius from its own pages only.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from lucius.entrypoints.api import admin, jobs, probes, protocols
from lucius.entrypoints.api.busy import register_busy_routes
from lucius.entrypoints.api.door import Plain
from lucius.entrypoints.api.guard import Guard, headless
from lucius.entrypoints.api.lifebook import dead_letters, runs, triggers, wallet
from lucius.entrypoints.api.openapi import document
from lucius.entrypoints.api.refusals import on_http_error, on_lucius_error, on_wrong_parameters
from lucius.entrypoints.api.services import Services
from lucius.errors import LuciusError


class LuciusApi(FastAPI):
    """FastAPI with a short way for the busiest routes."""

    busy: dict[str, Plain]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            method = scope["method"]
            if method == "POST":
                plain = self.busy.get(scope["path"])
                if plain is not None:
                    scope["route"] = plain  # telemetry names requests by `route.path`
                    await plain(scope, receive, send)
                    return
            elif method == "HEAD":
                inner, send = headless(scope, send)
                await super().__call__(inner, receive, send)
                scope["route"] = inner.get("route")
                return
        await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, made once."""
        if not self.openapi_schema:
            self.openapi_schema = document(self)
        return self.openapi_schema


def create_app(services: Services) -> LuciusApi:
    """The API on these services."""
    app = LuciusApi(
        title="Lucius",
        version=services.version,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            LuciusError: on_lucius_error,
            RequestValidationError: on_wrong_parameters,
            HTTPException: on_http_error,
        },
    )
    app.state.services = services
    app.busy = register_busy_routes(app, services)
    for room in (jobs, protocols, admin, probes, runs, wallet, dead_letters, triggers):
        # Not `include_router`: the routes themselves, so that `app.routes` lists every one of them.
        app.router.routes.extend(room.router.routes)
    app.add_middleware(Guard, services=services)
    return app
