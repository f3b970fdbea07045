"""What the echo service says."""

from __future__ import annotations

from lucius.core.job import Fault
from lucius.core.routing import reply_topic_of
from lucius.ports.bus import Message
from lucius.services.echo_wishes import Outcome
from lucius.wire.messages import AckMessage, DirectiveMessage, HeartbeatMessage, ResultMessage, encode


def ack(directive: DirectiveMessage, at: str) -> Message:
    """The directive was picked up."""
    reply = AckMessage(
        job_id=directive.job_id,
        step_id=directive.step_id,
        tenant_id=directive.tenant_id,
        attempt_no=directive.attempt_no,
        lease_id=directive.lease_id,
        timestamp=at,
        correlation_id=directive.correlation_id,
    )
    return _reply(directive, "ACK", encode(reply))


def heartbeat(directive: DirectiveMessage, at: str, progress: float, number: int) -> Message:
    """The work goes on; `number` tells the heartbeats of one attempt apart."""
    reply = HeartbeatMessage(
        job_id=directive.job_id,
        step_id=directive.step_id,
        tenant_id=directive.tenant_id,
        attempt_no=directive.attempt_no,
        lease_id=directive.lease_id,
        timestamp=at,
        progress=progress,
        correlation_id=directive.correlation_id,
    )
    return _reply(directive, "HEARTBEAT", encode(reply), f".{number}")


def result(directive: DirectiveMessage, outcome: Outcome, why: str, at: str) -> Message:
    """The work is over."""
    done = outcome == "succeed"
    reply = ResultMessage(
        job_id=directive.job_id,
        step_id=directive.step_id,
        tenant_id=directive.tenant_id,
        attempt_no=directive.attempt_no,
        lease_id=directive.lease_id,
        status="SUCCEEDED" if done else "FAILED_RETRY" if outcome == "retry" else "FAILED_FINAL",
        timestamp=at,
        output_ref=_output(directive) if done else None,
        error=None if done else _fault(outcome, why),
        correlation_id=directive.correlation_id,
    )
    return _reply(directive, "RESULT", encode(reply))


def _fault(outcome: Outcome, why: str) -> Fault:
    if outcome == "unreadable":
        return Fault(code="ECHO_INVALID_PAYLOAD", message=why)
    return Fault(code="ECHO_FAILURE", message="The echo service was told to fail.")


def _output(directive: DirectiveMessage) -> dict[str, str]:
    """Where the output would be: below the workspace, in the folder of this step and attempt."""
    root = str(directive.workspace_ref.get("uri", "")).rstrip("/")
    return {"uri": f"{root}/{directive.step_type}/{directive.attempt_no}/output.json"}


def _reply(directive: DirectiveMessage, subject: str, body: bytes, suffix: str = "") -> Message:
    return Message(
        message_id=f"{directive.job_id}.{directive.step_id}.{directive.lease_id}.{subject}{suffix}",
        topic=reply_topic_of(directive.lane),
        subject=subject,
        tenant_id=directive.tenant_id,
        body=body,
    )
