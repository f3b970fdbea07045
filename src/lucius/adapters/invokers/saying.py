"""From commands to the bodies of the internal API. No state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lucius.core.commands import Ack, Cancel, Command, GiveUp, Heartbeat, Pause, Reply, Result, Resume
from lucius.errors import Invalid
from lucius.wire.internal import (
    CancelCommand,
    ControlBody,
    GiveUpCommand,
    LimitsBody,
    PauseCommand,
    ReplyBody,
    ResumeCommand,
)

if TYPE_CHECKING:
    from lucius.core.admission import Limits


def reply_body(tenant_id: str, job_id: str, reply: Reply) -> ReplyBody:
    """A reply in the shape of its message; the time of it is the ledger's to say."""
    message: dict[str, Any] = {
        "type": _type_of(reply),
        "stepId": reply.step_id,
        "attempt_no": reply.attempt_no,
        "lease_id": reply.lease_id,
    }
    if isinstance(reply, Heartbeat):
        more = {"progress": reply.progress, "message": reply.message}
        message |= {name: value for name, value in more.items() if value is not None}
    elif isinstance(reply, Result):
        message |= msgspec.to_builtins(reply.result)
    return ReplyBody(tenant_id=tenant_id, job_id=job_id, reply=message)


def control_body(command: Command, limits: Limits) -> ControlBody:
    """A command of people, and the limits it is held against; `Invalid` for any other command."""
    return ControlBody(
        command=_asked(command),
        limits=LimitsBody(
            tenant_jobs=limits.tenant_jobs,
            system_jobs=limits.system_jobs,
            tenant_burst_jobs=limits.tenant_burst_jobs,
            retry_after=limits.retry_after,
        ),
    )


def _type_of(reply: Reply) -> str:
    for kind, name in ((Ack, "ACK"), (Heartbeat, "HEARTBEAT"), (Result, "RESULT")):
        if isinstance(reply, kind):
            return name
    raise Invalid(f"{type(reply).__name__} is nothing a service says.", code="NOT_A_REPLY")


def _asked(command: Command) -> CancelCommand | GiveUpCommand | PauseCommand | ResumeCommand:
    if isinstance(command, Cancel):
        return CancelCommand(force=command.force, reason=command.reason)
    if isinstance(command, GiveUp):
        return GiveUpCommand(reason=command.reason)
    if isinstance(command, Pause):
        return PauseCommand()
    if isinstance(command, Resume):
        return ResumeCommand()
    raise Invalid(f"{type(command).__name__} is nothing that people ask of a job.", code="NOT_A_CONTROL")
