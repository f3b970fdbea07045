"""The outermost ASGI layer: counts requests by route template, opens the ingress span, binds ids.

Plain ASGI, because a layer that wraps every request pays for each object it makes. The traceparent
to store in an order is left in `scope["lucius.traceparent"]`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from time import perf_counter
from typing import Any

from lucius.telemetry.logs import bound
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.traces import Traces, well_formed

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TRACEPARENT_KEY = "lucius.traceparent"
#: What services and our own processes say belongs to a job that has a trace, or to none.
_NO_TRACE_OF_ITS_OWN = ("/v1/callbacks/", "/v1/directives", "/v1/internal/")
_CORRELATION_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


def route_of(scope: Scope) -> str:
    """The template the router matched, never the path a client made up."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "unmatched"


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of that (lower-case) name."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


class ObservedApp:
    """Wraps an ASGI app."""

    def __init__(self, app: App, *, metrics: Metrics, traces: Traces) -> None:
        self._app = app
        self._metrics = metrics
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; anything but HTTP passes through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        status = 500  # what the server answers when the app raises before it starts to answer

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._serve(scope, receive, observed)
        finally:
            self._metrics.observe_request(scope["method"], route_of(scope), status, perf_counter() - started)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        correlation_id = header(scope, b"x-correlation-id")
        if correlation_id is not None and _CORRELATION_ID.fullmatch(correlation_id):
            with bound(correlation_id=correlation_id.decode()):
                await self._trace(scope, receive, send)
        else:
            await self._trace(scope, receive, send)

    async def _trace(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = header(scope, b"traceparent")
        parent = well_formed(given.decode("latin-1")) if given is not None else None
        if not self._traces.enabled or (parent is None and not _starts_a_trace(scope)):
            scope[TRACEPARENT_KEY] = parent
            await self._app(scope, receive, send)
            return
        with self._traces.ingress(scope["method"], parent, lambda: route_of(scope)) as traceparent:
            scope[TRACEPARENT_KEY] = traceparent
            await self._app(scope, receive, send)


def _starts_a_trace(scope: Scope) -> bool:
    """Reading starts none: probes and scrapes would drown the jobs. Nor does the talk about attempts."""
    return scope["method"] == "POST" and not scope["path"].startswith(_NO_TRACE_OF_ITS_OWN)
