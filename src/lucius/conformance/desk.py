"""The kit's HTTP side: the routes of Lucius that services use, with its status codes and problem documents.

    POST /v1/directives:receive|settle|renew     a service key (Authorization: Bearer, or X-API-Key)
    POST /v1/callbacks/ack|heartbeat|result      the attempt's callback token
    POST /v1/callbacks/batch                     each reply with its own token

Every refusal is noted in the ledger: a service that speaks properly is never refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lucius.conformance.ledger import WRONG_TOKEN, Fault, Ledger, Parcel
from lucius.conformance.requests import (
    MAX_BATCH_BYTES,
    ReceiveRequest,
    RenewRequest,
    ReplyBatch,
    SettleRequest,
    read,
)
from lucius.errors import Invalid, LuciusError, NotFound, Problem, Unauthenticated, Unavailable
from lucius.security.authenticate import bearer
from lucius.wire.messages import decode_reply
from lucius.wire.strict_json import check_content_type, parse
from lucius.wire.timestamps import iso

Document = dict[str, Any]
Handler = Callable[[Request], Awaitable[bytes]]
_TYPES: Final = frozenset({"ACK", "RESULT", "HEARTBEAT"})
_TOKENLESS: Final = (
    "This needs the callback token of the directive: send it as Authorization: Bearer, as X-Callback-Token "
    "or as callback_token."
)


class Desk:
    """The application that services talk to."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._routes: dict[str, Handler] = {
            "/v1/directives:receive": self._receive,
            "/v1/directives:settle": self._settle,
            "/v1/directives:renew": self._renew,
            "/v1/callbacks/batch": self._batch,
        }
        for kind in ("ACK", "HEARTBEAT", "RESULT"):
            self._routes[f"/v1/callbacks/{kind.lower()}"] = self._callback(kind)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Every error becomes a problem document."""
        request = Request(scope, receive)
        try:
            response = Response(await self._handled(request), media_type="application/json")
        except ClientDisconnect:
            return
        except LuciusError as error:
            self._note(request, error)
            response = _problem(error, request.url.path)
        await response(scope, receive, send)

    async def _handled(self, request: Request) -> bytes:
        handler = self._routes.get(request.url.path)
        if handler is None:
            raise NotFound(f"Lucius has no {request.url.path}.")
        if request.method != "POST":
            raise Invalid("This is asked for with POST.", code="METHOD_NOT_ALLOWED", status=405)
        if request.url.path.startswith("/v1/directives:"):
            self._check_key(request)
        else:
            self._watch_for_key(request, await request.body())
        check_content_type(request.headers.get("content-type"))
        return await handler(request)

    async def _receive(self, request: Request) -> bytes:
        asked = read(await request.body(), ReceiveRequest)
        ledger, began = self.ledger, self.ledger.now()
        ledger.asked.append(asked)
        ledger.reached_as = f"http://{request.headers.get('host', '')}"
        ledger.changed()
        ledger.withhold("receive")
        found = ledger.take(asked, began)
        if not found and asked.wait_seconds:
            found = await self._listen(request, asked, began)
        return b'{"directives":[' + b",".join(map(ledger.lent_line, found)) + b"]}"

    async def _listen(self, request: Request, asked: ReceiveRequest, began: float) -> list[Parcel]:
        """Wait for directives as long as somebody is there to take them."""
        ledger, generation = self.ledger, self.ledger.generation
        found: list[Parcel] = []
        gone = asyncio.ensure_future(_hung_up(request))
        gone.add_done_callback(lambda _: ledger.changed())

        def over() -> bool:
            if found or ledger.closed or gone.done() or ledger.generation != generation:
                return True
            found.extend(ledger.take(asked, began))
            return bool(found)

        ends = began + asked.wait_seconds
        try:
            # A lock that runs out wakes nobody: look again when the next one does.
            while not over() and (left := ends - ledger.now()) > 0:
                await ledger.until(over, min(left, ledger.next_lapse()))
        finally:
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone
        return found

    async def _settle(self, request: Request) -> bytes:
        asked = read(await request.body(), SettleRequest).settlements
        self.ledger.withhold("settle")
        results = [
            {"lock_token": one.lock_token, "result": "ok" if self.ledger.settle(one) else "lost"}
            for one in asked
        ]
        return orjson.dumps({"results": results})

    async def _renew(self, request: Request) -> bytes:
        tokens = read(await request.body(), RenewRequest).lock_tokens
        ends = [self.ledger.renew(token) for token in tokens]
        results = [
            {
                "lock_token": token,
                "result": "lost" if end is None else "ok",
                "locked_until": None if end is None else iso(end),
            }
            for token, end in zip(tokens, ends, strict=True)
        ]
        return orjson.dumps({"results": results})

    def _callback(self, kind: str) -> Handler:
        async def handle(request: Request) -> bytes:
            token = request.headers.get("x-callback-token")
            given = request.headers.get("authorization")
            if token is None and given is not None:
                token = bearer(given)
            return orjson.dumps(self._judge(parse(await request.body()), kind, token))

        return handle

    async def _batch(self, request: Request) -> bytes:
        replies = read(await request.body(), ReplyBatch, limit=MAX_BATCH_BYTES).replies
        results = []
        for index, reply in enumerate(replies):
            line: Document = {"index": index, "status": 200, "answer": None, "problem": None}
            try:
                line["answer"] = self._judge(reply, None, None)
            except LuciusError as error:
                self._note(request, error)
                line |= {"status": error.status, "problem": _document(error, None)}
            results.append(line)
        return orjson.dumps({"results": results})

    def _judge(self, document: Any, kind: str | None, token: str | None) -> Document:
        if type(document) is not dict:
            raise Invalid("A reply must be a JSON object.", code="NOT_AN_OBJECT")
        given = document.pop("callback_token", None)
        found = token if token is not None else given
        if type(found) is not str:
            raise Unauthenticated(_TOKENLESS)
        said = document.setdefault("type", kind)
        if said != kind if kind is not None else said not in _TYPES:
            message = f"Must be {kind} here." if kind else "Must be ACK, RESULT or HEARTBEAT."
            problem = Problem(pointer="/type", code="WRONG_TYPE_OF_REPLY", message=message)
            raise Invalid(message, code=problem.code, problems=(problem,))
        return self.ledger.report(decode_reply(document), found)

    def _check_key(self, request: Request) -> None:
        given = request.headers.get("x-api-key")
        authorization = request.headers.get("authorization")
        if given is None and authorization is not None:
            given = bearer(authorization)
        if given != self.ledger.key:
            raise Unauthenticated("This needs the service key: send LUCIUS_API_KEY as Authorization: Bearer.")

    def _watch_for_key(self, request: Request, body: bytes) -> None:
        """A callback needs only its token; the key is nobody's business there."""
        everything = "\n".join(request.headers.values()) + body.decode("utf-8", "replace")
        if self.ledger.key in everything:
            why = "the service key came with a callback"
            self.ledger.note(Fault(path=request.url.path, status=200, why=why, leak=True))

    def _note(self, request: Request, error: LuciusError) -> None:
        if isinstance(error, Unavailable) or error.message == WRONG_TOKEN:  # our own doing, or noted already
            return
        why = f"{error.message} [{error.code}]"
        self.ledger.note(Fault(path=request.url.path, status=error.status, why=why))


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _document(error: LuciusError, path: str | None) -> Document:
    document: Document = {
        "type": f"urn:lucius:problem:{error.code.lower().replace('_', '-')}",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.message,
        "code": error.code,
    }
    if path is not None:
        document["instance"] = path
    if error.problems:
        document["errors"] = [
            {"pointer": one.pointer, "code": one.code, "detail": one.message} for one in error.problems
        ]
    return document


def _problem(error: LuciusError, path: str) -> Response:
    headers = {"retry-after": str(error.retry_after)} if error.retry_after is not None else {}
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = 'Bearer realm="lucius"'
    body = orjson.dumps(_document(error, path))
    return Response(body, error.status, headers, media_type="application/problem+json")
