"""The door: one request as plain ASGI, from its headers to its answer.

The busiest routes are served here without any framework in between; all others borrow the same reading
of credentials and bodies. The order is fixed: who is it (401), may it come from there (403, open mode
only), is it JSON (415), is it small enough (413, judged while reading). Nothing is read for a stranger.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any

from lucius.entrypoints.api.problems import Answer, Header, answer_to
from lucius.entrypoints.api.services import Services
from lucius.errors import Invalid
from lucius.security.loopback import check_origin
from lucius.security.principal import Principal
from lucius.telemetry.asgi import TRACEPARENT_KEY
from lucius.telemetry.traces import well_formed
from lucius.wire.strict_json import MAX_BYTES, check_content_type

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BATCH_BYTES = 4 * 1024 * 1024
_JSON = (b"content-type", b"application/json")
GUARDS: tuple[Header, ...] = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

check_from = lru_cache(maxsize=256)(check_origin)
"""`check_origin`, once for each pair of headers that passes; refusals are judged every time."""


class ClientGoneError(Exception):
    """The client hung up; nobody waits for an answer."""


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
        announced = self.headers.get(b"content-length")
        if announced is not None and announced.isdigit() and int(announced[:20]) > limit:
            raise _too_large(limit)
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        first: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            if len(first) > limit:
                raise _too_large(limit)
            return first
        return await self._rest(first, limit)

    async def _rest(self, first: bytes, limit: int) -> bytes:
        parts, size = [first], len(first)
        more = True
        while more:
            if size > limit:
                raise _too_large(limit)
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            part: bytes = message.get("body", b"")
            parts.append(part)
            size += len(part)
            more = message.get("more_body", False)
        if size > limit:
            raise _too_large(limit)
        return b"".join(parts)

    def traceparent(self) -> str | None:
        """The span the request belongs to, if it says so in a way that can be read."""
        if TRACEPARENT_KEY in self.scope:
            found: str | None = self.scope[TRACEPARENT_KEY]
            return found
        return well_formed(self.header(b"traceparent"))


Handler = Callable[[Call], Awaitable[Answer]]


def json_answer(status: int, body: bytes, *more: Header) -> Answer:
    """An answer in JSON."""
    return status, body, [_JSON, *more]


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
            status, body, headers = await self.handler(Call(self.services, scope, receive))
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a problem document
            status, body, headers = answer_to(error, self.services.new_id, scope["path"])
        await send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [*headers, (b"content-length", b"%d" % len(body)), *GUARDS],
            }
        )
        await send({"type": "http.response.body", "body": body})


def _too_large(limit: int) -> Invalid:
    return Invalid(f"The body has more than {limit} bytes.", code="BODY_TOO_LARGE", status=413)
