"""The layer round FastAPI: no foreign pages in open mode, safe headers, no error without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lucius.entrypoints.api.door import Call
from lucius.entrypoints.http.incoming import GUARDS, ClientGoneError
from lucius.entrypoints.http.problems import answer_to

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lucius.entrypoints.api.services import Services


class Guard:
    """Plain ASGI middleware."""

    def __init__(self, app: ASGIApp, *, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; whatever goes wrong inside becomes a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                named = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in GUARDS if pair[0] not in named)]
            await send(message)

        try:
            if self._services.authenticator.open:
                Call(self._services, scope, receive).check_origin()
            await self._app(scope, receive, guarded)
        except ClientGoneError:
            return
        except Exception as error:
            if started:
                raise
            status, body, headers = answer_to(error, self._services.new_id, scope["path"])
            headers.append((b"content-length", b"%d" % len(body)))
            await guarded({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})


def headless(scope: Scope, send: Send) -> tuple[Scope, Send]:
    """HEAD as GET without a body. Nobody follows events by HEAD, so it never asks for a stream."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]

    async def without_body(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    changed: dict[str, Any] = {**scope, "method": "GET", "headers": headers}
    return changed, without_body
