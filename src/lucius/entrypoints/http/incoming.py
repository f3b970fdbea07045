"""One request as plain ASGI: its body within a limit, its answer with safe headers. No state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from lucius.entrypoints.http.problems import Answer, Header
from lucius.errors import Invalid

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_JSON = (b"content-type", b"application/json")
GUARDS: tuple[Header, ...] = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class ClientGoneError(Exception):
    """The client hung up; nobody waits for an answer."""


async def whole_body(headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> bytes:
    """The bytes of a body of at most `limit` bytes, whatever they are."""
    announced = headers.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced[:20]) > limit:
        raise _too_large(limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    first: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(first) > limit:
            raise _too_large(limit)
        return first
    return await _rest(first, receive, limit)


async def _rest(first: bytes, receive: Receive, limit: int) -> bytes:
    parts, size = [first], len(first)
    more = True
    while more:
        if size > limit:
            raise _too_large(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        more = message.get("more_body", False)
    if size > limit:
        raise _too_large(limit)
    return b"".join(parts)


def json_answer(status: int, body: bytes, *more: Header) -> Answer:
    """An answer in JSON."""
    return status, body, [_JSON, *more]


async def send_answer(send: Send, answer: Answer) -> None:
    """Send a whole answer."""
    status, body, headers = answer
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
