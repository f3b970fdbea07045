"""The routes that are served without a framework, and their entries in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Response

from lucius.entrypoints.api import callbacks, commands, directives, requests, shapes
from lucius.entrypoints.api.door import Plain
from lucius.entrypoints.api.envelope_schema import EXAMPLE
from lucius.entrypoints.api.openapi import CALLBACK, answers, body_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

    from lucius.entrypoints.api.door import Handler
    from lucius.entrypoints.api.services import Services

_BODY = (400, 413, 415)
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
    "description": "The same as `idempotency_key` in the body; both and different: 400.",
}
_TRACE = {"name": "traceparent", "in": "header", "required": False, "schema": {"type": "string"}}
_TOKEN = {"name": "X-Callback-Token", "in": "header", "required": False, "schema": {"type": "string"}}
_ENVELOPE = body_of("Envelope", example=EXAMPLE) | {"parameters": [_KEY, _TRACE]}


def register_busy_routes(app: FastAPI, services: Services) -> dict[str, Plain]:
    """Register every busy route with FastAPI; the handlers by path."""
    found = {}
    for path, handler, described in _ROUTES:
        plain = found[path] = Plain(services, path, handler)
        app.add_api_route(path, _endpoint(plain), methods=["POST"], response_class=Response, **described)
    return found


class _Handed(Response):
    """A response that a plain handler gives, should a request ever come through the router."""

    def __init__(self, plain: Plain) -> None:
        super().__init__()
        self._plain = plain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._plain(scope, receive, send)


def _endpoint(plain: Plain) -> Callable[[], Any]:
    async def endpoint() -> Response:
        return _Handed(plain)

    return endpoint


def _reply(shape: type) -> dict[str, Any]:
    return body_of(shape) | {"parameters": [_TOKEN], "security": CALLBACK}


def _described(
    operation: str, summary: str, tag: str, extra: dict[str, Any], responses: dict[int | str, dict[str, Any]]
) -> dict[str, Any]:
    good = min(int(status) for status in responses)
    return {
        "operation_id": operation,
        "summary": summary,
        "tags": [tag],
        "openapi_extra": extra,
        "responses": responses,
        "status_code": good,
    }


_SUBMIT = answers({202: shapes.Accepted}, *_BODY, 429)
_SUBMIT[202]["headers"] = {"Location": {"schema": {"type": "string"}, "description": "The job"}}
_VERDICT = answers({200: shapes.ReplyAnswer}, *_BODY)

_ROUTES: tuple[tuple[str, Handler, dict[str, Any]], ...] = (
    (
        "/v1/orchestrate",
        commands.submit,
        _described("submit", "Accept a command; durable when it answers", "commands", _ENVELOPE, _SUBMIT),
    ),
    (
        "/v1/commands",
        commands.submit,
        _described("submitCommand", "The same as /v1/orchestrate", "commands", _ENVELOPE, _SUBMIT),
    ),
    (
        "/v1/orchestrate:plan",
        commands.plan,
        _described(
            "plan",
            "What a command would become; creates nothing",
            "commands",
            _ENVELOPE,
            answers({200: shapes.Plan}, *_BODY),
        ),
    ),
    (
        "/v1/orchestrate:batch",
        commands.batch,
        _described(
            "submitBatch",
            "Up to 100 commands, each judged on its own",
            "commands",
            body_of(requests.CommandBatch, example={"items": [EXAMPLE]}),
            answers({200: shapes.BatchAnswer}, *_BODY),
        ),
    ),
    (
        "/v1/callbacks/ack",
        callbacks.callback("ACK"),
        _described("ack", "The directive was picked up", "callbacks", _reply(requests.AckBody), _VERDICT),
    ),
    (
        "/v1/callbacks/heartbeat",
        callbacks.callback("HEARTBEAT"),
        _described("heartbeat", "The work goes on", "callbacks", _reply(requests.HeartbeatBody), _VERDICT),
    ),
    (
        "/v1/callbacks/result",
        callbacks.callback("RESULT"),
        _described("result", "The work is over", "callbacks", _reply(requests.ResultBody), _VERDICT),
    ),
    (
        "/v1/callbacks/batch",
        callbacks.callback_batch,
        _described(
            "replies",
            "Up to 500 replies, each with its own token and verdict",
            "callbacks",
            body_of(requests.ReplyBatch) | {"security": CALLBACK},
            answers({200: shapes.ReplyBatchAnswer}, *_BODY),
        ),
    ),
    (
        "/v1/directives:receive",
        directives.receive,
        _described(
            "receiveDirectives",
            "Take directives under a lock, waiting for the first one",
            "directives",
            body_of(requests.ReceiveRequest),
            answers({200: shapes.ReceiveAnswer}, *_BODY),
        ),
    ),
    (
        "/v1/directives:settle",
        directives.settle,
        _described(
            "settleDirectives",
            "Give directives back",
            "directives",
            body_of(requests.SettleRequest),
            answers({200: shapes.SettleAnswer}, *_BODY),
        ),
    ),
    (
        "/v1/directives:renew",
        directives.renew,
        _described(
            "renewDirectives",
            "Keep directives for longer",
            "directives",
            body_of(requests.RenewRequest),
            answers({200: shapes.RenewAnswer}, *_BODY),
        ),
    ),
)
