"""The internal API as one application, in plain ASGI.

    request ─▶ probe? ─▶ token (401) ─▶ route (404, 405) ─▶ draining (503) ─▶ body ─▶ invoker ─▶ answer

A stranger learns nothing: without a token every path but the two probes gives the same bytes.
"""

from __future__ import annotations

from lucius.entrypoints.http.incoming import ClientGoneError, Receive, Scope, Send, send_answer
from lucius.entrypoints.http.problems import Answer
from lucius.entrypoints.invoker.door import Call
from lucius.entrypoints.invoker.refusals import no_route, stranger, told, wrong_method
from lucius.entrypoints.invoker.routes import Route, find
from lucius.entrypoints.invoker.services import InvokerServices
from lucius.errors import Unauthenticated, Unavailable

_RETRY_AFTER = 1
"""Seconds; another replica is there at once, a restart takes a little longer."""


class InvokerApi:
    """The ASGI application."""

    def __init__(self, services: InvokerServices) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Every error becomes an answer."""
        if scope["type"] != "http":
            raise ValueError(f"the invoker speaks HTTP only, not {scope['type']}")
        try:
            answer = await self._answer(scope, receive)
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a problem document
            answer = told(error, self._services.new_id, scope["path"])
        if scope["method"] == "HEAD":
            answer = (answer[0], b"", answer[2])
        await send_answer(send, answer)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path: str = scope["path"]
        found = find(path)
        if found is None or not found[0].open:
            try:
                self._check(scope)
            except Unauthenticated as error:
                return stranger(error)
        if found is None:
            return no_route(path)
        route, job_id = found
        scope["route"] = route  # telemetry names requests by `route.path`
        if not _takes(route, scope["method"]):
            return wrong_method(path, route.method)
        if route.method == "POST" and self._services.draining():
            message = "This invoker is about to end and takes nothing new; nothing was done. Ask another one."
            raise Unavailable(message, code="DRAINING", retry_after=_RETRY_AFTER)
        return await route.handler(Call(self._services, scope, receive, job_id))

    def _check(self, scope: Scope) -> None:
        self._services.tokens.check([value for name, value in scope["headers"] if name == b"authorization"])


def create_invoker_app(services: InvokerServices) -> InvokerApi:
    """The internal API on this invoker."""
    return InvokerApi(services)


def _takes(route: Route, method: str) -> bool:
    return method == route.method or (method == "HEAD" and route.method == "GET")
