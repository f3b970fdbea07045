"""What the temporal worker asks: go on, record an attempt, publish a directive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.entrypoints.http.strict import within
from lucius.entrypoints.invoker.door import said
from lucius.ports.invoker import Advance, Advanced, Attempted
from lucius.wire.internal import AdvanceBody, AttemptBody, Done, PublishBody, Recorded, Stands
from lucius.wire.messages import decode_directive
from lucius.wire.timestamps import iso, parse_iso

if TYPE_CHECKING:
    from lucius.entrypoints.http.problems import Answer
    from lucius.entrypoints.invoker.door import Call


async def advance(call: Call) -> Answer:
    """`POST /v1/internal/steps/advance`."""
    body = await call.asked(AdvanceBody)
    found = await call.services.invoker.advance(
        Advance(
            job_id=body.job_id,
            tenant_id=body.tenant_id,
            known=body.known,
            lease_id=body.lease_id,
            spread=body.spread,
        )
    )
    return said(Stands(standing=found.standing, now=found.now))


async def attempt(call: Call) -> Answer:
    """`POST /v1/internal/steps/attempt`."""
    body = await call.asked(AttemptBody)
    if body.lease_expires_at is not None:
        with within("/lease_expires_at"):
            parse_iso(body.lease_expires_at)
    found = await call.services.invoker.attempt(
        Attempted(
            job_id=body.job_id,
            tenant_id=body.tenant_id,
            step_id=body.step_id,
            attempt_no=body.attempt_no,
            lease_id=body.lease_id,
        )
    )
    expires = _expiry(found, body.step_id)
    return said(Recorded(standing=found.standing, now=found.now, lease_expires_at=expires))


async def publish(call: Call) -> Answer:
    """`POST /v1/internal/publish`."""
    body = await call.asked(PublishBody)
    directive = bytes(body.directive)
    with within("/directive"):
        decode_directive(directive)
    await call.services.invoker.publish(body.lane, directive)
    return said(Done())


def _expiry(found: Advanced, step_id: str) -> str | None:
    steps = found.standing.steps if found.standing is not None else ()
    return next(
        (iso(step.attempt.lease_expires_at) for step in steps if step.step_id == step_id and step.attempt),
        None,
    )
