"""Whether messages can be lent: what workspaces are served by is what their messages are."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import msgspec

from lucius.core.promises import Breach
from lucius.lifebook.core.run import read_envelope

_LANES = "SELECT queue, workspace_id, ready, lent FROM lanes"
_COUNTS = (
    "SELECT queue, workspace_id, count(*) FILTER (WHERE hidden_until IS NULL),"
    " count(*) FILTER (WHERE lent_until IS NOT NULL) FROM messages NOT INDEXED GROUP BY queue, workspace_id"
)
_MESSAGES = "SELECT message_id, queue, workspace_id, send_no, body FROM messages"
_RUN = "SELECT body FROM runs WHERE job_id = ?"
_KEEP = "keep a copy of the file and report it"
_DO = "stop all that use the file and restore the newest backup that verifies"


def queues(connection: apsw.Connection) -> Iterator[Breach]:
    """Counts of each workspace first, then each message beside its run."""
    lanes = {(queue, workspace): counts for queue, workspace, *counts in connection.execute(_LANES)}
    counted = {(queue, workspace): counts for queue, workspace, *counts in connection.execute(_COUNTS)}
    for queue, workspace in sorted(lanes.keys() | counted.keys()):
        said, real = lanes.get((queue, workspace), [0, 0]), counted.get((queue, workspace), [0, 0])
        if said != real:
            told = f"counts {said[0]} ready and {said[1]} lent messages of {workspace}"
            what = f"the queue {queue} {told}, it has {real[0]} and {real[1]}: some may never be lent; {_DO}"
            yield _breach("", what)
    for message_id, queue, workspace, send_no, body in connection.execute(_MESSAGES):
        envelope = read_envelope(body)
        sends = None if envelope is None else _sends(connection, envelope.job_id)
        if envelope is None or sends is None:
            continue  # it goes to the dead letters, or is there, and is shown as what it is
        if send_no > sends:
            what = f"has had {sends} messages, {message_id} in {queue} is number {send_no}"
            yield _breach(envelope.job_id, f"{what}; {_KEEP}")
        if envelope.workspace_id != workspace:
            yield _breach(
                envelope.job_id, f"its message {message_id} is served as one of {workspace}; {_KEEP}"
            )


class _Sends(msgspec.Struct, frozen=True):
    """What we look for in a run."""

    sends: int = 1


def _sends(connection: apsw.Connection, job_id: str) -> int | None:
    """How many messages a run has had; None: it is forgotten, or unreadable and found so elsewhere."""
    row = connection.execute(_RUN, (job_id,)).fetchone()
    try:
        return None if row is None else msgspec.json.decode(row[0], type=_Sends).sends
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _breach(job_id: str, what: str) -> Breach:
    return Breach(promise="QUEUE", job_id=job_id, what=what)
