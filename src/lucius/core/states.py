"""States, their public vocabularies, and the one table of legal moves."""

from __future__ import annotations

from lucius.core.names import Name, quick


@quick
class JobState(Name):
    """Where a job stands, exactly."""

    QUEUED = "QUEUED"
    DISPATCHING = "DISPATCHING"
    IN_PROGRESS = "IN_PROGRESS"
    PAUSING = "PAUSING"
    PAUSED = "PAUSED"
    CANCELLING = "CANCELLING"
    SUCCEEDED = "SUCCEEDED"
    FAILED_FINAL = "FAILED_FINAL"
    CANCELLED = "CANCELLED"


@quick
class StepState(Name):
    """Where a step stands, exactly."""

    PENDING = "PENDING"
    DISPATCHING = "DISPATCHING"
    AWAITING_ACK = "AWAITING_ACK"
    IN_PROGRESS = "IN_PROGRESS"
    FAILED_RETRY = "FAILED_RETRY"
    SUCCEEDED = "SUCCEEDED"
    FAILED_FINAL = "FAILED_FINAL"
    CANCELLED = "CANCELLED"


J, S = JobState, StepState

TERMINAL_JOB = frozenset({J.SUCCEEDED, J.FAILED_FINAL, J.CANCELLED})
TERMINAL_STEP = frozenset({S.SUCCEEDED, S.FAILED_FINAL, S.CANCELLED})
RUNNING_JOB = frozenset({J.QUEUED, J.DISPATCHING, J.IN_PROGRESS})
ACTIVE_STEP = frozenset({S.DISPATCHING, S.AWAITING_ACK, S.IN_PROGRESS, S.FAILED_RETRY})
IN_FLIGHT_STEP = frozenset({S.AWAITING_ACK, S.IN_PROGRESS})
#: States that hold one of the tenant's slots. A paused job gives its slot back.
COUNTED_JOB = frozenset(J) - TERMINAL_JOB - {J.PAUSED}

#: The coarse public vocabulary.
JOB_STATUS = {state: state.value for state in J} | {
    J.DISPATCHING: "QUEUED",
    J.PAUSING: "IN_PROGRESS",
    J.CANCELLING: "CANCELLED",
}
STEP_STATUS = {state: state.value for state in S} | {
    S.DISPATCHING: "INITIATED",
    S.AWAITING_ACK: "INITIATED",
    S.IN_PROGRESS: "PROCESSING",
}

#: event kind -> the moves it may make. Everything else is a bug and raises.
JOB_TRANSITIONS: dict[str, frozenset[tuple[JobState, JobState]]] = {
    "directive.published": frozenset({(J.QUEUED, J.DISPATCHING)}),
    "step.acknowledged": frozenset(
        {(J.QUEUED, J.IN_PROGRESS), (J.DISPATCHING, J.IN_PROGRESS), (J.PAUSED, J.PAUSING)}
    ),
    # In flight means published, and what is published is no longer QUEUED.
    "job.pausing": frozenset({(J.DISPATCHING, J.PAUSING), (J.IN_PROGRESS, J.PAUSING)}),
    "job.paused": frozenset(
        {
            (J.QUEUED, J.PAUSED),
            (J.DISPATCHING, J.PAUSED),
            (J.IN_PROGRESS, J.PAUSED),
            (J.PAUSING, J.PAUSED),
        }
    ),
    "job.resumed": frozenset(
        {(J.PAUSED, new) for new in (J.QUEUED, J.DISPATCHING, J.IN_PROGRESS)}
        | {(J.PAUSING, new) for new in (J.DISPATCHING, J.IN_PROGRESS)}
    ),
    "job.cancelling": frozenset({(old, J.CANCELLING) for old in (J.DISPATCHING, J.IN_PROGRESS, J.PAUSING)}),
    "job.cancelled": frozenset({(old, J.CANCELLED) for old in set(J) - TERMINAL_JOB}),
    # QUEUED: a retried job that inherits all it needs. A result implies the ACK, so no other start.
    "job.succeeded": frozenset({(old, J.SUCCEEDED) for old in (J.QUEUED, J.IN_PROGRESS, J.PAUSING)}),
    "job.failed": frozenset(
        {(old, J.FAILED_FINAL) for old in (J.QUEUED, J.DISPATCHING, J.IN_PROGRESS, J.PAUSING, J.PAUSED)}
    ),
}

STEP_TRANSITIONS: dict[str, frozenset[tuple[StepState, StepState]]] = {
    "attempt.created": frozenset({(S.PENDING, S.DISPATCHING), (S.FAILED_RETRY, S.DISPATCHING)}),
    "directive.published": frozenset({(S.DISPATCHING, S.AWAITING_ACK)}),
    # FAILED_RETRY: the clock gave the attempt up, but its lease is still the current one.
    "step.acknowledged": frozenset(
        {(old, S.IN_PROGRESS) for old in (S.DISPATCHING, S.AWAITING_ACK, S.FAILED_RETRY)}
    ),
    "step.succeeded": frozenset({(S.IN_PROGRESS, S.SUCCEEDED)}),
    "step.retry_scheduled": frozenset({(old, S.FAILED_RETRY) for old in (S.AWAITING_ACK, S.IN_PROGRESS)}),
    "step.failed": frozenset({(old, S.FAILED_FINAL) for old in ACTIVE_STEP}),
    "step.cancelled": frozenset({(old, S.CANCELLED) for old in (S.PENDING, *ACTIVE_STEP)}),
}
