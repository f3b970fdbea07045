"""Which run the log lines of a worker are about: said once, carried by every line written meanwhile."""

from __future__ import annotations

from contextlib import AbstractContextManager

from structlog.contextvars import bound_contextvars

from lucius.lifebook.core.run import Run, read_envelope
from lucius.lifebook.ports.queue import Delivery


def about_message(delivery: Delivery) -> AbstractContextManager[None]:
    """Lines about a message, and about the run that it names."""
    envelope = read_envelope(delivery.body)
    if envelope is None:
        return bound_contextvars(message_id=delivery.message_id)
    return bound_contextvars(
        message_id=delivery.message_id,
        job_id=envelope.job_id,
        workspace_id=envelope.workspace_id,
        trace_id=envelope.trace_id,
    )


def about_attempt(run: Run) -> AbstractContextManager[None]:
    """Lines about a run that is held; the message may still speak of an earlier attempt."""
    return bound_contextvars(workflow_id=run.workflow_id, trace_id=run.trace_id, attempt=run.attempts)


def about_step(step: str) -> AbstractContextManager[None]:
    """Lines about one step, those that the step writes itself included."""
    return bound_contextvars(step=step)
