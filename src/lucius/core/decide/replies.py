"""What services say: ACK, HEARTBEAT, RESULT.

A reply counts only for the current attempt and lease. Time is no judge here: an attempt that the
clock has given up may still answer as long as no newer attempt exists. A refused reply changes nothing
and leaves its trace, an event, unless the job has very many events already (`MAX_TRACED`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lucius.core import commands as cmd
from lucius.core import events as ev
from lucius.core.decide.draft import Draft, Verdict
from lucius.core.decide.progress import fail_step, lose_attempt, settle
from lucius.core.job import Fault, Job, Step
from lucius.core.states import ACTIVE_STEP, StepState

if TYPE_CHECKING:
    from lucius.core.job import Attempt

#: Refused replies leave a trace only while the job has fewer events than this. Whoever holds a good token,
#: or sends the same reply in a loop, could otherwise grow the ledger without end. All events count, not the
#: traces alone, so that nothing more must be kept of a job; an ordinary job ends far below.
MAX_TRACED: Final = 1_000
NO_ERROR = Fault(code="UNSPECIFIED", message="The service gave no reason.")


def ack(draft: Draft, reply: cmd.Ack) -> Verdict:
    """Somebody has picked the directive up."""
    current, verdict = _judge(draft.job, reply)
    if verdict is not Verdict.ACCEPTED or current is None:
        return _refuse(draft, reply, "ACK", verdict)
    if current.state is StepState.IN_PROGRESS:
        return _refuse(draft, reply, "ACK", Verdict.DUPLICATE)
    _acknowledge(draft, current)
    return Verdict.ACCEPTED


def heartbeat(draft: Draft, reply: cmd.Heartbeat) -> Verdict:
    """The work goes on. A heartbeat implies the ACK."""
    current, verdict = _judge(draft.job, reply)
    if verdict is not Verdict.ACCEPTED or current is None:
        return _refuse(draft, reply, "HEARTBEAT", verdict)
    if current.state is not StepState.IN_PROGRESS:
        _acknowledge(draft, current)
    draft.emit(
        ev.LeaseExtended, step_id=reply.step_id, attempt_no=reply.attempt_no,
        lease_expires_at=draft.now + _lease(draft.job, current),
        progress=reply.progress, message=reply.message,
    )  # fmt: skip
    return Verdict.ACCEPTED


def result(draft: Draft, reply: cmd.Result) -> Verdict:
    """The work is over. A result implies the ACK; the first one counts."""
    current, verdict = _judge(draft.job, reply)
    if verdict is not Verdict.ACCEPTED or current is None:
        return _refuse(draft, reply, "RESULT", verdict)
    if current.state is not StepState.IN_PROGRESS:
        _acknowledge(draft, current)
    step = draft.job.steps[current.index]
    report = reply.result
    if report.status == "SUCCEEDED":
        draft.emit(ev.StepSucceeded, step_id=step.step_id, attempt_no=reply.attempt_no, result=report)
        settle(draft)
    elif report.status == "FAILED_RETRY":
        lose_attempt(draft, step, "execution", report.error or NO_ERROR, report)
    else:
        fail_step(draft, step, "execution", report.error or NO_ERROR, report)
    return Verdict.ACCEPTED


def _judge(job: Job, reply: cmd.Reply) -> tuple[Step | None, Verdict]:
    step = job.step(reply.step_id)
    if step is None:
        return None, Verdict.UNKNOWN
    attempt: Attempt | None = step.attempt
    if attempt is None or attempt.attempt_no != reply.attempt_no or attempt.lease_id != reply.lease_id:
        return step, Verdict.AFTER_TERMINAL if job.terminal else Verdict.STALE_LEASE
    if step.result is not None:  # this attempt has already reported
        same = not isinstance(reply, cmd.Result) or reply.result == step.result
        return step, Verdict.DUPLICATE if same else Verdict.CONFLICT
    if job.terminal or step.state not in ACTIVE_STEP:
        return step, Verdict.AFTER_TERMINAL
    return step, Verdict.ACCEPTED


def _refuse(draft: Draft, reply: cmd.Reply, name: str, verdict: Verdict) -> Verdict:
    if draft.job.version < MAX_TRACED:
        draft.emit(
            ev.ReplyRefused, reply=name, verdict=verdict.value, step_id=reply.step_id,
            attempt_no=reply.attempt_no, lease_id=reply.lease_id,
        )  # fmt: skip
    return verdict


def _acknowledge(draft: Draft, step: Step) -> None:
    attempt_no = step.attempt.attempt_no if step.attempt else 0
    draft.emit(
        ev.StepAcknowledged, step_id=step.step_id, attempt_no=attempt_no,
        lease_expires_at=draft.now + _lease(draft.job, step),
    )  # fmt: skip


def _lease(job: Job, step: Step) -> int:
    return job.order.protocol.steps[step.index].lease
