"""Callbacks: what services say about their attempts, over HTTP.

The credential is the directive's own `callback_token`, good for exactly that attempt: as
`Authorization: Bearer`, as `X-Callback-Token`, or as the field `callback_token` of the body. A reply
with a good token is always answered 200 with a verdict, however late or stale it is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson

from lucius.entrypoints.api.door import MAX_BATCH_BYTES
from lucius.entrypoints.api.requests import ReplyBatch
from lucius.entrypoints.http.incoming import json_answer
from lucius.entrypoints.http.problems import document_of
from lucius.entrypoints.http.strict import read
from lucius.errors import Invalid, Problem, Unauthenticated
from lucius.security.authenticate import bearer
from lucius.wire.messages import decode_reply
from lucius.wire.strict_json import parse
from lucius.wire.timestamps import iso

if TYPE_CHECKING:
    from lucius.entrypoints.api.door import Call, Handler
    from lucius.entrypoints.http.problems import Answer
    from lucius.ports.engine import Answer as Judged
    from lucius.wire.messages import ReplyMessage

_TYPES = frozenset({"ACK", "RESULT", "HEARTBEAT"})


def callback(kind: str) -> Handler:
    """The handler of `POST /v1/callbacks/<kind>`."""

    async def handle(call: Call) -> Answer:
        authorization = call.header(b"authorization")
        token = call.header(b"x-callback-token")
        if token is None and authorization is not None:
            token = bearer(authorization)
        document = parse(await call.body())
        return json_answer(200, orjson.dumps(await _judge(call, document, kind, token)))

    return handle


async def callback_batch(call: Call) -> Answer:
    """`POST /v1/callbacks/batch`."""
    replies = read(await call.body(MAX_BATCH_BYTES), ReplyBatch, limit=MAX_BATCH_BYTES).replies
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_one(call, index, reply)) for index, reply in enumerate(replies)]
    return json_answer(200, orjson.dumps({"results": [task.result() for task in tasks]}))


async def _one(call: Call, index: int, document: Any) -> dict[str, Any]:
    try:
        answer = await _judge(call, document, None, None)
    except Exception as error:  # noqa: BLE001 - one bad reply must not take the others with it
        problem = document_of(error, call.services.new_id)
        return {"index": index, "status": problem["status"], "answer": None, "problem": problem}
    return {"index": index, "status": 200, "answer": answer, "problem": None}


async def _judge(call: Call, document: Any, kind: str | None, token: str | None) -> dict[str, Any]:
    if type(document) is not dict:
        raise Invalid("A reply must be a JSON object.", code="NOT_AN_OBJECT")
    given = document.pop("callback_token", None)
    found = token if token is not None else given
    if type(found) is not str:
        raise Unauthenticated(
            "This needs the callback token of the directive: send it as Authorization: Bearer, "
            "as X-Callback-Token or as callback_token."
        )
    reply = decode_reply(_typed(document, kind))
    return _shown(reply, await call.services.report.report(reply, found))


def _typed(document: dict[str, Any], kind: str | None) -> dict[str, Any]:
    """The reply with the type its route implies; a different one is refused."""
    given = document.setdefault("type", kind)
    right = given == kind if kind is not None else isinstance(given, str) and given in _TYPES
    if not right:
        message = f"Must be {kind} here." if kind else "Must be ACK, RESULT or HEARTBEAT."
        problem = Problem(pointer="/type", code="WRONG_TYPE_OF_REPLY", message=message)
        raise Invalid(message, code=problem.code, problems=(problem,))
    return document


def _shown(reply: ReplyMessage, judged: Judged) -> dict[str, Any]:
    job = judged.job
    step = job.step(reply.step_id) if job is not None else None
    attempt = step.attempt if step is not None else None
    return {
        "verdict": judged.verdict.value,
        "jobId": reply.job_id,
        "stepId": reply.step_id,
        "state": job.state.value if job is not None else None,
        "step_state": step.state.value if step is not None else None,
        "lease_expires_at": iso(attempt.lease_expires_at) if attempt is not None else None,
        "cancel_requested": job is not None and job.cancel_requested_at is not None,
    }
