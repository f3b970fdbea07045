"""Between records and rows. Column lists stand beside the functions that fill and read them."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from lucius.core import events as ev
from lucius.core.job import Job, Order, Standing
from lucius.core.protocol import Protocol
from lucius.core.timing import due_at
from lucius.ports.ledger import OutboxRow

Row = tuple[Any, ...]
MAX_PROTOCOLS = 1024

#: Fixed when the job is accepted; the rest of a job row moves.
JOB_FIXED = (
    "job_id", "tenant_id", "request_type", "mode", "doc_id", "correlation_id", "ancestor_id", "created_at",
)  # fmt: skip
JOB_MOVING = ("state", "due_at", "completed_at", "body")
ORDERS = ("job_id", "protocol", "claim_key", "body")
EVENTS = ("job_id", "seq", "body")
OUTBOX = ("job_id", "step_index", "attempt_no", "topic", "priority", "created_at", "body")
#: What reading an outbox row asks for: its columns, and what its body says.
OUTBOX_READ = (*OUTBOX, "tenant_id", "step_id", "lease_id", "subject", "lane", "mode")


_NO_PROTOCOL = Protocol(protocol_id="", version="", request_type="", steps=())

_encode = msgspec.json.Encoder().encode
_order = msgspec.json.Decoder(Order)
_event: msgspec.json.Decoder[ev.Event] = msgspec.json.Decoder(ev.AnyEvent)
_moving = msgspec.json.Decoder(Standing)
_protocol = msgspec.json.Decoder(Protocol)


def text(value: object) -> str:
    """JSON text of a record."""
    return _encode(value).decode()


_digests: dict[int, tuple[Protocol, str, str]] = {}


def protocol_row(protocol: Protocol) -> Row:
    """digest, body. Remembered by identity: a catalogue hands out the same record until it is reloaded."""
    held = _digests.get(id(protocol))
    if held is None:
        if len(_digests) >= MAX_PROTOCOLS:
            _digests.clear()
        body = _encode(protocol)
        held = _digests[id(protocol)] = (protocol, sha256(body).hexdigest(), body.decode())
    return held[1:]


def order_row(order: Order, claim_key: str) -> Row:
    """ORDERS."""
    body = text(replace(order, protocol=_NO_PROTOCOL))
    return order.job_id, protocol_row(order.protocol)[0], claim_key, body


def job_row(job: Job) -> Row:
    """JOB_FIXED + JOB_MOVING."""
    order = job.order
    moving = Standing(
        state=job.state, steps=job.steps, version=job.version, updated_at=job.updated_at,
        completed_at=job.completed_at, error=job.error, final_output=job.final_output,
        deadline_at=job.deadline_at, paused_at=job.paused_at, cancel_requested_at=job.cancel_requested_at,
    )  # fmt: skip
    return (
        order.job_id, order.tenant_id, order.request_type, order.routing.mode, order.doc_id,
        order.correlation_id, order.ancestor_id, order.accepted_at,
        job.state, due_at(job), job.completed_at, text(moving),
    )  # fmt: skip


def event_row(job_id: str, event: ev.Event) -> Row:
    """EVENTS."""
    return job_id, event.seq, text(event)


def outbox_row(row: OutboxRow) -> Row:
    """OUTBOX."""
    return (
        row.job_id, row.step_index, row.attempt_no, row.topic, row.priority, row.created_at,
        row.body.decode(),
    )  # fmt: skip


def read_event(body: str) -> ev.Event:
    """An event from its body."""
    return _event.decode(body)


@lru_cache(maxsize=MAX_PROTOCOLS)
def read_protocol(body: str) -> Protocol:
    """A protocol from its body; the jobs of one recipe share one record."""
    return _protocol.decode(body)


def read_job(order_body: str, protocol_body: str, moving_body: str) -> Job:
    """A job from its three bodies."""
    order = replace(_order.decode(order_body), protocol=read_protocol(protocol_body))
    return _moving.decode(moving_body).of(order)


def read_outbox(row: Row) -> OutboxRow:
    """From OUTBOX_READ columns."""
    fields = dict(zip(OUTBOX_READ, row, strict=True))
    fields["body"] = fields["body"].encode()
    fields["message_id"] = f"{fields['job_id']}.{fields['step_index']}.{fields['attempt_no']}"
    return OutboxRow(**fields)
