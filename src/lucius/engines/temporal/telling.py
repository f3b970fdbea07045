"""What a workflow is told of a change, and when it must be.

A reply that counted is told before it is settled, and told again when it comes again: the ledger knowing
it says nothing about the workflow. What this process has delivered once is not delivered again (`repeats`).
Stale and foreign replies change nothing, so nobody hears of them.
Heartbeats are not told: a workflow whose timer fires asks, and hears of the new lease.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from lucius.core import commands as cmd
from lucius.core.decide import Verdict
from lucius.core.states import JobState
from lucius.engines.temporal import messages as msg
from lucius.engines.temporal.repeats import Key, Repeats

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.core.decide import Decision
    from lucius.core.job import Job
    from lucius.engines.temporal.talking import Signals

    Unheard = Callable[[str], Awaitable[object]]
    Within = Callable[[Job, str | None, int], AbstractContextManager[None]]

_COUNTED = frozenset({Verdict.ACCEPTED, Verdict.DUPLICATE})
_VERBS: dict[type[cmd.Command], str] = {cmd.Cancel: "cancel", cmd.Pause: "pause", cmd.Resume: "resume"}


def anywhere(_job: Job, _step_id: str | None, _attempt_no: int) -> AbstractContextManager[None]:
    """Signals that belong to no trace."""
    return nullcontext()


class Telling:
    """Tells the workflow of a job what became of it."""

    def __init__(self, signals: Signals, *, unheard: Unheard, within: Within = anywhere) -> None:
        """`unheard` is given the id of an open job whose workflow is not there any more.

        `within` puts what is told into the trace of the job, below the attempt that it is about.
        """
        self._signals = signals
        self._unheard = unheard
        self._within = within
        self._repeats = Repeats()

    async def reply(self, reply: cmd.Reply, decision: Decision, spread: float) -> None:
        """A service's reply was judged; raises `Unavailable` if its workflow could not be told."""
        job = decision.job
        signal = _of_reply(reply, decision, spread)
        about = (job.job_id, reply.step_id, reply.attempt_no, reply.lease_id, type(reply))
        if signal is None:
            if _ended_a_cancel(decision) and ("late", *about) not in self._repeats:
                await self._signals.nudge(job.job_id)
                self._repeats.delivered(("late", *about))
            return
        with self._within(job, reply.step_id, reply.attempt_no):
            await self._tell(job, signal, about)

    async def control(self, command: cmd.Command, decision: Decision, spread: float) -> None:
        """Somebody's command was judged; a cancellation is also Temporal's to know."""
        if decision.verdict not in _COUNTED:
            return
        job_id, verb = decision.job.job_id, _VERBS.get(type(command))
        if verb is not None:
            signal = msg.JobControl(
                jobId=job_id, verb=verb, told=_told(decision, spread),
                force=getattr(command, "force", False), reason=getattr(command, "reason", None),
            )  # fmt: skip
            with self._within(decision.job, None, 0):
                await self._tell(decision.job, signal, (job_id, verb, decision.job.version))
        if decision.job.state in (JobState.CANCELLING, JobState.CANCELLED):
            await self._signals.cancel(job_id)  # after the signal, which says why
        elif decision.job.terminal:
            await self._signals.nudge(job_id)

    async def _tell(self, job: Job, signal: msg.Signal, about: Key) -> None:
        if signal.told.again and about in self._repeats:
            return
        if await self._signals.tell(job.job_id, signal):
            self._repeats.delivered(about)
        elif not job.terminal:
            await self._unheard(job.job_id)


def _ended_a_cancel(decision: Decision) -> bool:
    """Whether it may be the reply that a cancellation waited for, once more.

    A failure of a step that is being cancelled is not kept as its result, so the repeat is no duplicate.
    """
    return decision.verdict is Verdict.AFTER_TERMINAL and decision.job.state is JobState.CANCELLED


def _of_reply(reply: cmd.Reply, decision: Decision, spread: float) -> msg.Signal | None:
    if decision.verdict not in _COUNTED or isinstance(reply, cmd.Heartbeat):
        return None
    told = _told(decision, spread)
    if isinstance(reply, cmd.Result):
        result = reply.result
        return msg.StepResultTold(
            jobId=decision.job.job_id, stepId=reply.step_id, attempt_no=reply.attempt_no,
            lease_id=reply.lease_id, status=result.status, error=result.error,
            output_ref=result.output_ref, told=told,
        )  # fmt: skip
    return msg.StepAck(
        jobId=decision.job.job_id, stepId=reply.step_id, attempt_no=reply.attempt_no,
        lease_id=reply.lease_id, told=told,
    )  # fmt: skip


def _told(decision: Decision, spread: float) -> msg.Told:
    job = decision.job
    again = decision.verdict is Verdict.DUPLICATE
    return msg.Told(version=job.version, state=job.state, at=job.updated_at, spread=spread, again=again)
