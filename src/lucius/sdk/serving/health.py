"""Probes of a service process: `/healthz` (it runs), `/readyz` (it can work), `/metrics`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from lucius.sdk.serving.meter import Meter

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    Ready = Callable[[], Awaitable[str | None]]

OPENMETRICS = b"application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = b"text/plain; charset=utf-8"


def probes(meter: Meter, ready: Ready) -> ASGIApp:
    """The application: `ready` gives the reason why the service cannot work, or None."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - ASGI's signature
        if scope["type"] != "http":
            return
        status, kind, body = await _answer(scope["path"], meter, ready)
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


async def _answer(path: str, meter: Meter, ready: Ready) -> tuple[int, bytes, bytes]:
    if path == "/healthz":
        return 200, TEXT, b"ok\n"
    if path == "/readyz":
        reason = await ready()
        return (200, TEXT, b"ready\n") if reason is None else (503, TEXT, reason.encode() + b"\n")
    if path == "/metrics":
        return 200, OPENMETRICS, meter.exposition()
    return 404, TEXT, b"/healthz, /readyz, /metrics\n"


async def listen(app: ASGIApp, host: str, port: int) -> None:
    """Serve the probes until cancelled."""
    import uvicorn  # noqa: PLC0415 - only who asks for probes loads it

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Signals are the service's own affair."""
            yield

    options: dict[str, Any] = {"lifespan": "off", "log_config": None, "access_log": False}
    server = Server(uvicorn.Config(app, host=host, port=port, loop="none", server_header=False, **options))
    serving = asyncio.create_task(server.serve())
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
