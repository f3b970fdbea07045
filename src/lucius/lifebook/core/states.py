"""Statuses of a run, exactly as the contract names them, and the one table of legal moves."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where a run stands."""

    PENDING = "pending"
    """The record exists, its message is not known to be in the queue."""
    QUEUED = "queued"
    """A message is in the queue or on its way to a worker."""
    RUNNING = "running"
    """A worker holds the lock."""
    COMPLETED = "completed"
    FAILED = "failed"
    """The latest attempt failed; there will be another."""
    DEAD = "dead"
    """Failed for good; its message goes to the dead letters."""
    CANCELED = "canceled"


class TriggerType(StrEnum):
    """What started a run."""

    MANUAL = "manual"
    SCHEDULE = "schedule"
    WEBHOOK = "webhook"
    FILE_DROP = "file_drop"


S = Status

TERMINAL = frozenset({S.COMPLETED, S.DEAD, S.CANCELED})

#: command -> the moves it may make. Whatever is not here is refused.
TRANSITIONS: dict[str, frozenset[tuple[Status, Status]]] = {
    # Its message is in the queue. A worker may have been quicker than we were to note it.
    "sent": frozenset({(S.PENDING, S.QUEUED)}),
    # Its message seems lost: another one will be sent.
    "resend": frozenset({(status, status) for status in (S.PENDING, S.QUEUED, S.RUNNING, S.FAILED)}),
    # A worker takes it; from `running` when the one before is gone, to `dead` when that was one too many.
    "acquire": frozenset((status, S.RUNNING) for status in (S.PENDING, S.QUEUED, S.FAILED, S.RUNNING))
    | {(S.RUNNING, S.DEAD)},
    "beat": frozenset({(S.RUNNING, S.RUNNING)}),
    "checkpoint": frozenset({(S.RUNNING, S.RUNNING), (S.RUNNING, S.COMPLETED)}),
    "fail": frozenset({(S.RUNNING, S.FAILED), (S.RUNNING, S.DEAD)}),
    "hand_on": frozenset({(S.RUNNING, S.QUEUED)}),
    "cancel": frozenset({(status, S.CANCELED) for status in (S.PENDING, S.QUEUED, S.RUNNING, S.FAILED)}),
    # Its message was found among the dead letters.
    "bury": frozenset({(status, S.DEAD) for status in (S.PENDING, S.QUEUED, S.RUNNING, S.FAILED)}),
}
