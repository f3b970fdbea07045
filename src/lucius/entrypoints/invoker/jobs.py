"""What the orchestrator hands over: replies that came over HTTP, control, directives to send again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lucius.core.admission import Limits
from lucius.core.commands import Cancel, Command, GiveUp, Pause, Resume
from lucius.entrypoints.http.strict import within
from lucius.entrypoints.invoker.door import said
from lucius.errors import Invalid, Problem
from lucius.wire.internal import (
    CancelCommand,
    ControlBody,
    ControlCommand,
    GiveUpCommand,
    LimitsBody,
    PauseCommand,
    ReplyBody,
    RepublishBody,
    Republished,
)
from lucius.wire.messages import decode_reply
from lucius.wire.replies import command_of

if TYPE_CHECKING:
    from lucius.entrypoints.http.problems import Answer
    from lucius.entrypoints.invoker.door import Call


async def reply(call: Call) -> Answer:
    """`POST /v1/internal/replies`."""
    body = await call.asked(ReplyBody)
    with within("/reply"):
        message = decode_reply(_whole(body))
    command = command_of(message)
    return said(await call.services.invoker.report(body.tenant_id, body.job_id, command))


async def control(call: Call) -> Answer:
    """`POST /v1/internal/jobs/{jobId}/control`."""
    body = await call.asked(ControlBody)
    command, limits = _command(body.command), _limits(body.limits)
    return said(await call.services.invoker.control(call.job_id, command, limits))


async def republish(call: Call) -> Answer:
    """`POST /v1/internal/jobs/republish`."""
    body = await call.asked(RepublishBody)
    return said(Republished(count=await call.services.invoker.republish(body.job_ids)))


def _whole(body: ReplyBody) -> dict[str, Any]:
    """The reply with all that a message must have; it may not be about another job than its envelope."""
    about = {"jobId": body.job_id, "tenant_id": body.tenant_id}
    for name, value in about.items():
        if body.reply.get(name, value) != value:
            message = f"Must be the same as {name} of the body."
            problem = Problem(pointer=f"/{name}", code="CONTRADICTION", message=message)
            raise Invalid(message, code=problem.code, problems=(problem,))
    # When a reply counts is for the ledger's clock to say, so the time it names itself may be missing.
    return {"timestamp": "", **body.reply, **about}


def _command(asked: ControlCommand) -> Command:
    if isinstance(asked, CancelCommand):
        return Cancel(force=asked.force, reason=asked.reason)
    if isinstance(asked, GiveUpCommand):
        return GiveUp(reason=asked.reason)
    return Pause() if isinstance(asked, PauseCommand) else Resume()


def _limits(asked: LimitsBody) -> Limits:
    return Limits(
        tenant_jobs=asked.tenant_jobs,
        system_jobs=asked.system_jobs,
        tenant_burst_jobs=asked.tenant_burst_jobs,
        retry_after=asked.retry_after,
    )
