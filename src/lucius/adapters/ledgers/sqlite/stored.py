"""One job as it is stored, all of its rows, and whether they agree. For `verify`, not for work."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from lucius.adapters.ledgers.sqlite import rows
from lucius.core import events as ev
from lucius.core.promises import Breach, check_directives, check_history
from lucius.core.states import JobState
from lucius.core.timing import due_at
from lucius.errors import Invalid
from lucius.wire.messages import DirectiveMessage, decode_directive

if TYPE_CHECKING:
    import apsw

    from lucius.core.job import Job

_JOBS = (
    "SELECT j.job_id, j.tenant_id, j.request_type, j.mode, j.doc_id, j.correlation_id, j.ancestor_id, "
    "j.created_at, j.state, j.due_at, j.completed_at, j.body, o.body, o.claim_key, p.digest, p.body, "
    "d.error_code, i.job_id FROM jobs j LEFT JOIN orders o ON o.job_id = j.job_id "
    "LEFT JOIN protocols p ON p.digest = o.protocol LEFT JOIN dead_letters d ON d.job_id = j.job_id "
    "LEFT JOIN idempotency i ON i.tenant_id = j.tenant_id AND i.key = o.claim_key "
    "WHERE j.job_id > ? ORDER BY j.job_id LIMIT ?"
)
_EVENTS = "SELECT seq, body FROM events WHERE job_id = ? ORDER BY seq"
_OUTBOX = (
    "SELECT step_index, attempt_no, topic, priority, created_at, body FROM outbox WHERE job_id = ? "
    "ORDER BY step_index, attempt_no"
)


class StoredJob(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one job, as they are."""

    job_id: str
    fixed: rows.Row
    state: str
    due_at: int | None
    completed_at: int | None
    body: str
    order: str | None
    claim_key: str | None
    digest: str | None
    protocol: str | None
    dead: str | None
    owner: str | None
    """Who has the idempotency key of this job now."""
    events: list[rows.Row]
    outbox: list[rows.Row]


class _Sent(msgspec.Struct, frozen=True, kw_only=True):
    """An outbox row as its own bytes describe it."""

    step_id: str
    attempt_no: int
    lease_id: str
    topic: str
    lane: int
    mode: str


def page(connection: apsw.Connection, after: str, limit: int) -> list[StoredJob]:
    """The next jobs by id with all their rows, from one snapshot."""
    connection.execute("BEGIN")
    try:
        found: list[rows.Row] = connection.execute(_JOBS, (after, limit)).fetchall()
        return [_stored(connection, row) for row in found]
    finally:
        connection.execute("COMMIT")


def _stored(connection: apsw.Connection, row: rows.Row) -> StoredJob:
    job_id, *fixed = row[:8]
    state, due, completed_at, body, order, claim_key, digest, protocol, dead, owner = row[8:]
    return StoredJob(
        job_id=job_id, fixed=tuple(fixed), state=state, due_at=due, completed_at=completed_at, body=body,
        order=order, claim_key=claim_key, digest=digest, protocol=protocol, dead=dead, owner=owner,
        events=connection.execute(_EVENTS, (job_id,)).fetchall(),
        outbox=connection.execute(_OUTBOX, (job_id,)).fetchall(),
    )  # fmt: skip


def check(stored: StoredJob) -> Iterator[Breach]:
    """Everything that does not agree about one job."""

    def breach(promise: str, what: str) -> Breach:
        return Breach(promise=promise, job_id=stored.job_id, what=what)

    if stored.order is None or stored.claim_key is None:
        yield breach("S13", "a job without its order")
        return
    if stored.protocol is None:
        yield breach("S17", "the protocol of this job is gone")
        return
    if sha256(stored.protocol.encode()).hexdigest() != stored.digest:
        yield breach("S17", "the protocol is not the one that was stored")
    try:
        job = rows.read_job(stored.order, stored.protocol, stored.body)
        events = [rows.read_event(body) for _, body in stored.events]
    except (msgspec.MsgspecError, ValueError) as error:
        yield breach("S13", f"a row that cannot be read: {error}")
        return
    if [seq for seq, _ in stored.events] != [event.seq for event in events]:
        yield breach("S13", "an event is stored under another's number")
    yield from check_history(job.order, events, job)
    for promise, what in (*_columns(stored, job), *_keys(stored, job)):
        yield breach(promise, what)
    yield from _directives(stored, job, events)


def _columns(stored: StoredJob, job: Job) -> Iterator[tuple[str, str]]:
    order = job.order
    if order.job_id != stored.job_id:
        yield "S13", f"the order says it is {order.job_id}"
    said = (
        order.tenant_id, order.request_type, order.routing.mode, order.doc_id, order.correlation_id,
        order.ancestor_id, order.accepted_at,
    )  # fmt: skip
    if stored.fixed[0] != order.tenant_id:
        yield "S15", f"listed for {stored.fixed[0]}, ordered by {order.tenant_id}"
    elif stored.fixed != said:
        yield "S13", f"listed as {stored.fixed}, ordered as {said}"
    if stored.state != job.state:
        yield "S12", f"counted as {stored.state}, but it is {job.state}"
    if stored.due_at != due_at(job):
        yield "L1", f"due at {stored.due_at}, its timers say {due_at(job)}"
    if stored.completed_at != job.completed_at:
        yield "S5", f"over at {stored.completed_at}, the job says {job.completed_at}"


def _keys(stored: StoredJob, job: Job) -> Iterator[tuple[str, str]]:
    if (stored.dead is not None) != (job.state is JobState.FAILED_FINAL):
        yield "S5", f"{job.state} with dead letter {stored.dead}"
    elif job.error is not None and stored.dead != job.error.code:
        yield "S5", f"the dead letter says {stored.dead}, the job {job.error.code}"
    if str(stored.claim_key).startswith("k:") and stored.owner != stored.job_id:
        yield "S8", f"its explicit key belongs to {stored.owner}"


def _directives(stored: StoredJob, job: Job, events: list[ev.Event]) -> Iterator[Breach]:
    made = {(e.step_id, e.attempt_no): e for e in events if isinstance(e, ev.AttemptCreated)}
    sent = []
    for index, attempt_no, topic, priority, created_at, body in stored.outbox:

        def breach(what: str, where: str = f"{index}.{attempt_no}") -> Breach:
            return Breach(promise="S10", job_id=stored.job_id, what=f"directive {where}: {what}")

        try:
            message = decode_directive(body.encode())
        except Invalid as error:
            yield breach(f"unreadable: {error.message}")
            continue
        names = [recipe.step_id for recipe in job.order.protocol.steps]
        step_id = names[index] if index < len(names) else "?"
        if _speaks_of(message) != (stored.job_id, job.order.tenant_id, step_id, attempt_no):
            yield breach(f"its bytes speak of {_speaks_of(message)}")
        cause = made.get((step_id, attempt_no))
        if priority != job.order.priority or (cause is not None and cause.at != created_at):
            yield breach("its row is not that of its attempt")
        sent.append(
            _Sent(
                step_id=message.step_id, attempt_no=message.attempt_no, lease_id=message.lease_id,
                topic=topic, lane=message.lane, mode=message.mode,
            )
        )  # fmt: skip
    yield from check_directives(job.order, events, sent)


def _speaks_of(message: DirectiveMessage) -> tuple[Any, ...]:
    return message.job_id, message.tenant_id, message.step_id, message.attempt_no
