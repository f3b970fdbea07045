"""The record of a run, and the message that wakes a worker for it.

The first block of fields is the contract's item, by its names; times are milliseconds since the epoch
inside and ISO-8601 in the item, credits are hundredths inside and numbers in the item. The second block
is what closes the contract's holes. `item.py` has both forms of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lucius.lifebook.core.states import TERMINAL, Status, TriggerType

MESSAGE_VERSION = 1
MOST_ATTEMPTS = 5
"""Also the default. Messages are received up to 8 times, so that the record decides and not the queue."""


class StepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One step as it was when the run was created."""

    name: str
    credits: int
    """Hundredths of a credit it costs at most."""


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """Who runs it, until when. The token is new with every attempt: whoever has an older one is too late."""

    owner: str
    token: str
    expires_at: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a workflow."""

    job_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    trigger_type: TriggerType
    status: Status
    attempts: int = 0
    max_attempts: int = MOST_ATTEMPTS
    step_cursor: int = 0
    """The next step to execute."""
    credits_estimate: int
    credits_reserved: int
    """What the workspace's wallet still holds for it; nothing once it has ended."""
    credits_spent: int = 0
    idempotency_key: str
    last_error_code: str | None = None
    last_error_message: str | None = None
    created_at: int
    updated_at: int
    started_at: int | None = None
    completed_at: int | None = None
    ttl_at: int | None = None
    """Seconds since the epoch, when the record may go; None while the run is open."""

    version: int = 1
    """Grows with every write; a write names the version it was decided on."""
    steps: tuple[StepPlan, ...]
    input: dict[str, Any] = {}
    """What the steps are given: small values and references."""
    artifacts: dict[str, str] = {}
    """Step -> reference to what it made."""
    lock: Lock | None = None
    next_attempt_at: int | None = None
    """Not before; only while `failed`."""
    continued: bool = False
    """Handed on by a worker that ran out of time: whoever takes it goes on with the same attempt."""
    crashes: int = 0
    """Workers that were lost in the step at the cursor."""
    sends: int = 1
    """Messages sent for it; the highest is the one that counts, those before are leftovers."""
    due_at: int | None
    """When somebody should look whether its message was lost; None once it has ended."""
    trace_id: str
    fingerprint: str
    """What was asked for, hashed: the same key with another request is a mistake."""
    unique_id: str
    """The name of the item that keeps its idempotency key taken (`keys.py`)."""
    retry_of: str | None = None

    @property
    def steps_total(self) -> int:
        """How many steps the workflow had when the run was created."""
        return len(self.steps)

    @property
    def terminal(self) -> bool:
        """Whether nothing can change any more."""
        return self.status in TERMINAL


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the list of a workspace shows it: what its index projects."""

    job_id: str
    workspace_id: str
    created_at: int
    status: Status
    workflow_id: str
    trigger_type: TriggerType
    credits_estimate: int


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a message, by the contract's names. The record holds everything else."""

    v: int = MESSAGE_VERSION
    job_id: str
    workspace_id: str
    trigger_type: TriggerType
    attempt: int
    """1-based."""
    max_attempts: int
    trace_id: str
    idempotency_key: str


def envelope_of(run: Run) -> Envelope:
    """The message that wakes a worker for a run."""
    return Envelope(
        job_id=run.job_id,
        workspace_id=run.workspace_id,
        trigger_type=run.trigger_type,
        attempt=min(run.attempts + (0 if run.continued else 1), run.max_attempts),
        max_attempts=run.max_attempts,
        trace_id=run.trace_id,
        idempotency_key=run.idempotency_key,
    )


def read_envelope(body: bytes) -> Envelope | None:
    """The message in a body; None: it is none, or one of a version that we do not know."""
    try:
        envelope = msgspec.json.decode(body, type=Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return envelope if envelope.v == MESSAGE_VERSION else None


def is_leftover(run: Run, send_no: int | None) -> bool:
    """Whether a message is older than the run's newest; one without a number counts as the newest."""
    return send_no is not None and send_no < run.sends


def summary_of(run: Run) -> Summary:
    """The run as lists show it."""
    return Summary(
        job_id=run.job_id,
        workspace_id=run.workspace_id,
        created_at=run.created_at,
        status=run.status,
        workflow_id=run.workflow_id,
        trigger_type=run.trigger_type,
        credits_estimate=run.credits_estimate,
    )
