"""What is said to the invoker over its internal API: both sides use these records. No state.

Fields that are not known are refused, for both sides come from one release. Field names are those of the
message contract (`jobId`, `stepId`, the rest in snake case). Only what lies inside `directive` and `reply`
is additive, as it is on the bus.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from lucius.core.job import Standing
from lucius.wire.messages import Count, Lane, Name

MAX_INTERNAL_BYTES: Final = 512 * 1024
"""A command of full size inside a directive, and room for what is round it."""
MOST_JOBS: Final = 500

Version = Annotated[int, msgspec.Meta(ge=0)]
Lease = Annotated[str, msgspec.Meta(max_length=200)]
Spread = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Slots = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[int, msgspec.Meta(ge=0)]
Reason = Annotated[str, msgspec.Meta(max_length=2000)]


class InternalBody(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename={"job_id": "jobId", "step_id": "stepId"},
):
    """Base of all that is asked."""


class AttemptBody(InternalBody, frozen=True, kw_only=True):
    """Record this attempt."""

    job_id: Name
    step_id: Name
    tenant_id: Name
    attempt_no: Count
    lease_id: Name
    lease_expires_at: str | None = None
    """When the asker thinks it ends. The ledger's clock decides; its answer says what holds."""


class PublishBody(InternalBody, frozen=True, kw_only=True):
    """Publish this directive, byte for byte."""

    lane: Lane
    directive: msgspec.Raw


class AdvanceBody(InternalBody, frozen=True, kw_only=True):
    """Go on with a job."""

    job_id: Name
    tenant_id: Name
    known: Version
    lease_id: Lease
    """Empty: nothing may be started."""
    spread: Spread = 0.5


class ReplyBody(InternalBody, frozen=True, kw_only=True):
    """What a service says about one attempt, as it would say it on the bus."""

    job_id: Name
    tenant_id: Name
    reply: dict[str, Any]
    """An ACK, HEARTBEAT or RESULT; its `jobId`, `tenant_id` and `timestamp` may be left out."""


class ControlCommand(InternalBody, frozen=True, kw_only=True, tag_field="type"):
    """Base of what people ask of a job."""


class CancelCommand(ControlCommand, frozen=True, kw_only=True, tag="cancel"):
    """Stop the job."""

    force: bool = False
    reason: Reason | None = None


class GiveUpCommand(ControlCommand, frozen=True, kw_only=True, tag="give_up"):
    """End a job that nothing drives any more."""

    reason: Reason


class PauseCommand(ControlCommand, frozen=True, kw_only=True, tag="pause"):
    """Start nothing new."""


class ResumeCommand(ControlCommand, frozen=True, kw_only=True, tag="resume"):
    """Go on after a pause."""


class LimitsBody(InternalBody, frozen=True, kw_only=True):
    """How many jobs may be open once this one holds a slot again; left out: as many as come."""

    tenant_jobs: Slots | None = None
    system_jobs: Slots | None = None
    tenant_burst_jobs: Slots | None = None
    retry_after: Seconds = 5


class ControlBody(InternalBody, frozen=True, kw_only=True):
    """A command, and the limits it is held against."""

    command: CancelCommand | GiveUpCommand | PauseCommand | ResumeCommand
    limits: LimitsBody = LimitsBody()


class RepublishBody(InternalBody, frozen=True, kw_only=True):
    """Whose open directives to send again."""

    job_ids: Annotated[list[Name], msgspec.Meta(max_length=MOST_JOBS)]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """Done, and nothing to tell."""

    status: str = "ok"


class Stands(Done, frozen=True, kw_only=True):
    """The job as the ledger has it, and the ledger's time."""

    standing: Standing | None
    now: int


class Recorded(Stands, frozen=True, kw_only=True):
    """The same, with the one line that a caller who knows no job records looks for."""

    lease_expires_at: str | None


class Republished(Done, frozen=True, kw_only=True):
    """How many directives were offered."""

    count: int
