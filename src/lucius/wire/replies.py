"""From a reply at the wire to what is asked of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.commands import Ack, Heartbeat, Reply, Result
from lucius.core.job import StepResult
from lucius.wire.messages import AckMessage, HeartbeatMessage

if TYPE_CHECKING:
    from lucius.wire.messages import ReplyMessage


def command_of(reply: ReplyMessage) -> Reply:
    """The command a reply amounts to."""
    if isinstance(reply, AckMessage):
        return Ack(step_id=reply.step_id, attempt_no=reply.attempt_no, lease_id=reply.lease_id)
    if isinstance(reply, HeartbeatMessage):
        return Heartbeat(
            step_id=reply.step_id,
            attempt_no=reply.attempt_no,
            lease_id=reply.lease_id,
            progress=reply.progress,
            message=reply.message,
        )
    return Result(
        step_id=reply.step_id,
        attempt_no=reply.attempt_no,
        lease_id=reply.lease_id,
        result=StepResult(
            status=reply.status, output_ref=reply.output_ref, artifacts=reply.artifacts, error=reply.error
        ),
    )
