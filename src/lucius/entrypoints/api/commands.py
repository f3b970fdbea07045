"""Commands: submit, plan (a dry run), batch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from lucius.core.payloads import section_of
from lucius.core.states import JOB_STATUS
from lucius.entrypoints.api.door import MAX_BATCH_BYTES
from lucius.entrypoints.api.requests import CommandBatch
from lucius.entrypoints.api.shapes import LimitShares, Plan, PlannedStep, Refusal, Share
from lucius.entrypoints.http.incoming import json_answer
from lucius.entrypoints.http.problems import document_of
from lucius.entrypoints.http.strict import read
from lucius.errors import Invalid
from lucius.security.principal import Role, require
from lucius.security.redaction import redact
from lucius.wire.strict_json import MAX_BYTES, parse
from lucius.wire.views import moment

if TYPE_CHECKING:
    from lucius.core.admission import Limits
    from lucius.core.job import Order
    from lucius.entrypoints.api.door import Call
    from lucius.entrypoints.http.problems import Answer
    from lucius.ports.ledger import Opened, Usage
    from lucius.security.principal import Principal

_ACCEPTED = 202


async def submit(call: Call) -> Answer:
    """`POST /v1/orchestrate`."""
    principal = await call.principal()
    opened = await call.services.submit.submit(
        await call.body(),
        principal,
        header_key=call.header(b"idempotency-key"),
        traceparent=call.traceparent(),
    )
    return accepted(opened)


def accepted(opened: Opened) -> Answer:
    """The answer to a command that is a durable job."""
    location = f"/v1/jobs/{opened.job.order.job_id}".encode()
    return json_answer(_ACCEPTED, orjson.dumps(accepted_view(opened)), (b"location", location))


def accepted_view(opened: Opened) -> dict[str, Any]:
    """`Accepted`, as a plain dict: this is the busiest answer of all."""
    job = opened.job
    here = f"/v1/jobs/{job.order.job_id}"
    return {
        "jobId": job.order.job_id,
        "status": JOB_STATUS[job.state],
        "state": job.state.value,
        "duplicate": opened.duplicate,
        "links": {
            "self": here,
            "steps": f"{here}/steps",
            "events": f"{here}/events",
            "explain": f"{here}/explain",
        },
    }


async def plan(call: Call) -> Answer:
    """`POST /v1/orchestrate:plan`."""
    principal = await call.principal()
    document = parse(await call.body())
    prepared = call.services.submit.prepare(
        document, principal, header_key=call.header(b"idempotency-key"), traceparent=call.traceparent()
    )
    limits, usage, refused = call.services.explain.admission(prepared.order)
    shown = _planned(prepared.order, shares(limits, usage), refused)
    return json_answer(200, msgspec.json.encode(shown))


async def batch(call: Call) -> Answer:
    """`POST /v1/orchestrate:batch`."""
    principal = await call.principal()
    require(principal, Role.SUBMIT)
    if call.header(b"idempotency-key") is not None:
        message = "A batch takes no Idempotency-Key header; give each item its own idempotency_key."
        raise Invalid(message, code="IDEMPOTENCY_KEY_NOT_TAKEN", status=400)
    items = read(await call.body(MAX_BATCH_BYTES), CommandBatch, limit=MAX_BATCH_BYTES).items
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_one(call, principal, index, item)) for index, item in enumerate(items)]
    results = [task.result() for task in tasks]
    taken = sum(result["job"] is not None for result in results)
    answer = {"accepted": taken, "refused": len(results) - taken, "results": results}
    return json_answer(200, orjson.dumps(answer))


async def _one(call: Call, principal: Principal, index: int, item: Any) -> dict[str, Any]:
    try:
        opened = await call.services.submit.accept(_object(item), principal, traceparent=call.traceparent())
    except Exception as error:  # noqa: BLE001 - one bad item must not take the others with it
        problem = document_of(error, call.services.new_id)
        return {"index": index, "status": problem["status"], "job": None, "problem": problem}
    return {"index": index, "status": _ACCEPTED, "job": accepted_view(opened), "problem": None}


def _object(item: Any) -> dict[str, Any]:
    """An item that may be a command: no larger than it could be if it came alone."""
    if type(item) is not dict:
        raise Invalid("A command must be a JSON object.", code="NOT_AN_OBJECT")
    if len(orjson.dumps(item)) > MAX_BYTES:
        raise Invalid(f"The command has more than {MAX_BYTES} bytes.", code="BODY_TOO_LARGE", status=413)
    return item


def shares(limits: Limits, usage: Usage) -> LimitShares:
    """Limits beside what is in use of them."""
    return LimitShares(
        tenant=Share(in_use=usage.tenant_jobs, limit=limits.tenant_jobs),
        tenant_burst=Share(in_use=usage.tenant_burst_jobs, limit=limits.tenant_burst_jobs),
    )


def _planned(order: Order, limits: LimitShares, refused: Any) -> Plan:
    routing, recipe = order.routing, order.protocol
    return Plan(
        tenant_id=order.tenant_id,
        request_type=order.request_type,
        protocol_id=recipe.protocol_id,
        protocol_version=recipe.version,
        mode=routing.mode,
        lane=routing.lane,
        routing_key_used=routing.routing_key_used,
        topic=routing.topic,
        reply_topic=routing.reply_topic,
        decision_source=routing.decision_source,
        decision_reason=routing.decision_reason,
        idempotency_hash=order.idempotency_hash,
        not_before=moment(order.not_before),
        steps=[
            PlannedStep(
                step_id=step.step_id,
                step_type=step.step_type,
                service=step.service,
                payload=redact(section_of(order.payload, recipe, step.step_id)),
                ack_timeout_ms=step.ack_timeout,
                lease_ms=step.lease,
                max_dispatch_attempts=step.max_dispatch_attempts,
                max_execution_attempts=step.max_execution_attempts,
            )
            for step in recipe.steps
        ],
        limits=limits,
        admitted=refused is None,
        refusal=None if refused is None else Refusal(code=refused.code, detail=refused.message),
    )
