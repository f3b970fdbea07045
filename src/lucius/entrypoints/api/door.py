"""The door: one request as plain ASGI, from its headers to its answer.

The busiest routes are served here without any framework in between; all others borrow the same reading
of credentials and bodies. The order is fixed: who is it (401), may it come from there (403, open mode
only), is it JSON (415), is it small enough (413, judged while reading). Nothing is read for a stranger.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache

from lucius.entrypoints.api.services import Services
from lucius.entrypoints.http.incoming import ClientGoneError, Receive, Scope, Send, send_answer, whole_body
from lucius.entrypoints.http.problems import Answer, answer_to
from lucius.security.loopback import check_origin
from lucius.security.principal import Principal
from lucius.telemetry.asgi import TRACEPARENT_KEY
from lucius.telemetry.traces import well_formed
from lucius.wire.strict_json import MAX_BYTES, check_content_type

MAX_BATCH_BYTES = 4 * 1024 * 1024

check_from = lru_cache(maxsize=256)(check_origin)
"""`check_origin`, once for each pair of headers that passes; refusals are judged every time."""


class Call:
    """One request."""

    __slots__ = ("headers", "receive", "scope", "services")

    def __init__(self, services: Services, scope: Scope, receive: Receive) -> None:
        self.services = services
        self.scope = scope
        self.receive = receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])

    def header(self, name: bytes) -> str | None:
        """A header by its lower-case name."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    async def principal(self) -> Principal:
        """Who is asking; raises `Unauthenticated`, or `Forbidden` for a page that is not ours."""
        authorization, key = self.header(b"authorization"), self.header(b"x-api-key")
        authenticator = self.services.authenticator
        found = authenticator.at_once(authorization, key)
        if found is None:
            found = await authenticator.authenticate(authorization, key)
        if found.open:
            self.check_origin()
        return found

    def check_origin(self) -> None:
        """In open mode: the request names this machine and comes from no other web site."""
        check_from(self.header(b"host"), self.header(b"origin"))

    async def body(self, limit: int = MAX_BYTES) -> bytes:
        """The bytes of a JSON body of at most `limit` bytes."""
        self.check_content_type()
        return await self.raw_body(limit)

    def check_content_type(self) -> None:
        """Raise unless the body is announced as JSON."""
        check_content_type(self.header(b"content-type"))

    async def raw_body(self, limit: int) -> bytes:
        """The bytes of a body of at most `limit` bytes, whatever they are."""
        return await whole_body(self.headers, self.receive, limit)

    def traceparent(self) -> str | None:
        """The span the request belongs to, if it says so in a way that can be read."""
        if TRACEPARENT_KEY in self.scope:
            found: str | None = self.scope[TRACEPARENT_KEY]
            return found
        return well_formed(self.header(b"traceparent"))


Handler = Callable[[Call], Awaitable[Answer]]


class Plain:
    """A route served by a handler, without a framework."""

    __slots__ = ("handler", "path", "services")

    def __init__(self, services: Services, path: str, handler: Handler) -> None:
        self.services = services
        self.path = path
        self.handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Every error becomes an answer."""
        try:
            answer = await self.handler(Call(self.services, scope, receive))
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a problem document
            answer = answer_to(error, self.services.new_id, scope["path"])
        await send_answer(send, answer)
