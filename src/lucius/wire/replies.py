"""From a reply at the wire to what is asked of the job.

Words of a service are cut to a length, not refused: the result must not be lost for its prose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lucius.core.commands import Ack, Heartbeat, Reply, Result
from lucius.core.job import Fault, StepResult
from lucius.wire.messages import AckMessage, HeartbeatMessage

if TYPE_CHECKING:
    from lucius.wire.messages import ReplyMessage

MAX_CODE: Final = 100
MAX_MESSAGE: Final = 2_000
MAX_PROGRESS_MESSAGE: Final = 500


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
            message=reply.message and reply.message[:MAX_PROGRESS_MESSAGE],
        )
    return Result(
        step_id=reply.step_id,
        attempt_no=reply.attempt_no,
        lease_id=reply.lease_id,
        result=StepResult(
            status=reply.status,
            output_ref=reply.output_ref,
            artifacts=reply.artifacts,
            error=reply.error and _cut(reply.error),
        ),
    )


def _cut(error: Fault) -> Fault:
    if len(error.code) <= MAX_CODE and len(error.message) <= MAX_MESSAGE:
        return error
    return Fault(code=error.code[:MAX_CODE], message=error.message[:MAX_MESSAGE])
