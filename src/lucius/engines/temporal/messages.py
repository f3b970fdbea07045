"""What passes between invoker and workflow.

It is stored in workflow histories, which outlive releases: only ever add fields that have defaults.
"""

from __future__ import annotations

import msgspec

from lucius.core import commands as cmd
from lucius.core.job import Fault, Order, Ref, Standing, StepResult
from lucius.core.states import JobState

ACK = "step_ack"
RESULT = "step_result"
CONTROL = "job_control"
NUDGE = "nudge"
WORKFLOW = "LuciusJob"
FAILED = "FAILED_FINAL"
CANCELLED = "CANCELLED"
UNKNOWN = "JOB_UNKNOWN"


class Start(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The job that a workflow drives, without what only services need to read."""

    order: Order
    standing: Standing
    skew: int = 0
    """Milliseconds that the ledger's clock is ahead of Temporal's, as last seen."""
    attributes: bool = True
    """Whether the server knows our search attributes."""
    doubt: bool = False
    """The run before this one was about to ask; so this one begins by asking."""


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the ledger made of it."""

    version: int
    state: JobState
    at: int
    spread: float = 0.5
    again: bool = False
    """The ledger knew it already: whoever finds it new has missed something."""


class StepAck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Signal `step_ack`: a service has picked the directive up."""

    jobId: str  # noqa: N815  the contract's names
    stepId: str  # noqa: N815
    attempt_no: int
    lease_id: str
    told: Told

    def command(self) -> cmd.Command:
        """What it asks of the job."""
        return cmd.Ack(step_id=self.stepId, attempt_no=self.attempt_no, lease_id=self.lease_id)


class StepResultTold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Signal `step_result`: the work is over."""

    jobId: str  # noqa: N815  the contract's names
    stepId: str  # noqa: N815
    attempt_no: int
    lease_id: str
    status: str
    told: Told
    error: Fault | None = None
    output_ref: Ref | None = None

    def command(self) -> cmd.Command:
        """What it asks of the job."""
        result = StepResult(status=self.status, output_ref=self.output_ref, error=self.error)
        return cmd.Result(
            step_id=self.stepId, attempt_no=self.attempt_no, lease_id=self.lease_id, result=result
        )


class JobControl(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Signal `job_control`: somebody cancels, pauses or resumes the job."""

    jobId: str  # noqa: N815  the contract's name
    verb: str
    told: Told
    force: bool = False
    reason: str | None = None

    def command(self) -> cmd.Command:
        """What it asks of the job."""
        if self.verb == "cancel":
            return cmd.Cancel(force=self.force, reason=self.reason)
        return cmd.Resume() if self.verb == "resume" else cmd.Pause()


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a workflow ended: the same as its row says."""

    state: JobState
    version: int
    final_output: Ref | None = None
    error: Fault | None = None


Signal = StepAck | StepResultTold | JobControl
SIGNALS: dict[str, type[Signal]] = {ACK: StepAck, RESULT: StepResultTold, CONTROL: JobControl}
"""What is read from a signal of that name; any other says no more than: look."""
