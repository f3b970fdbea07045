"""One run drives one job. No rules here: `pilot.py` knows what to do, this file waits and calls.

There is one place that waits. Signals only tell the pilot; the call to the invoker and the timer are tasks
of their own, so that a cancellation, which Temporal throws into whatever the run waits for, meets nothing
but the waiting. The timer is left running when its time moves away, and set anew when it has fired: a
quick job costs one timer, not two a step.

It ends as the ledger says: completed, failed with `FAILED_FINAL`, or cancelled. A defect in this code does
not fail a job: the run stands still until a corrected worker goes on with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from lucius.core.decide import Chance
    from lucius.core.states import JOB_STATUS, JobState
    from lucius.engines.temporal import messages as msg
    from lucius.engines.temporal.attributes import STATUS
    from lucius.engines.temporal.pilot import Pilot
    from lucius.ports.invoker import Advance, Advanced

#: The invoker may be away for as long as it likes: what is asked is asked again.
PATIENT = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=10),
)
#: Also how long a question is lost for when the worker that asked it dies.
CALL = timedelta(seconds=8)
SHOWN_AFTER = 30_000
"""Milliseconds after which lists show that a job has begun."""
GRACE = timedelta(seconds=30)
"""How long a cancelled job waits for Temporal's own cancellation, which follows ours."""


@workflow.defn(name=msg.WORKFLOW)
class JobWorkflow:
    """Drives a job from its first attempt to its outcome."""

    @workflow.init
    def __init__(self, start: msg.Start) -> None:
        self._pilot = Pilot(start)
        self._attributes = start.attributes
        self._status = JOB_STATUS[self._pilot.job.state]
        self._cancelled = False
        self._call: asyncio.Task[None] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._fires_at = 0
        self._lasts = False

    @workflow.run
    async def run(self, start: msg.Start) -> msg.Outcome:  # noqa: ARG002  taken by __init__, as signals may come first
        """Until the job is over."""
        pilot = self._pilot
        while not pilot.over:
            if self._wants():
                self._call = asyncio.create_task(self._advance())
            self._set_timer()
            answered = await self._stir()
            self._show()
            # With an answer, never with a signal: a cancellation that came along is only seen after signals.
            if answered and self._too_long() and not pilot.over:
                workflow.continue_as_new(pilot.restart())
        return await self._end()

    @workflow.signal(dynamic=True)
    def hear(self, name: str, told: Sequence[RawValue]) -> None:
        """Whatever comes, by any name. What cannot be read is no reason to stand still, but one to ask."""
        kind = msg.SIGNALS.get(name)
        if kind is None or not told:
            self._pilot.nudge()
            return
        try:
            signal = workflow.payload_converter().from_payload(told[0].payload, kind)
            self._pilot.hear(signal.command(), signal.told)
        except Exception:  # noqa: BLE001  rubbish comes in all shapes; raised here, it would stop the run for ever
            self._pilot.nudge()

    @workflow.query
    def standing(self) -> msg.Start:
        """What this run knows, for people and for tests."""
        return self._pilot.restart()

    @workflow.query
    def busy(self) -> bool:
        """Whether a question is on its way or about to be."""
        return self._call is not None or self._pilot.wants()

    async def _stir(self) -> bool:
        """Wait until there is something to do; True: a question was answered.

        A cancellation from outside is passed on, once.
        """
        try:
            await workflow.wait_condition(self._stirred)
        except asyncio.CancelledError:
            self._cancelled = True
            if self._pilot.job.state not in (JobState.CANCELLING, JobState.CANCELLED):
                await self._pass_cancel_on()
        call = self._call
        if call is not None and call.done():
            self._call = None
            call.result()  # whatever went wrong in there goes wrong here
        if self._timer is not None and self._timer.done():
            self._timer = None
            self._pilot.reach(self._fires_at)
            self._lasts = True
        return call is not None and self._call is None

    def _wants(self) -> bool:
        return self._call is None and (self._pilot.wants() or self._too_long())

    def _stirred(self) -> bool:
        if self._pilot.over or (self._timer is not None and self._timer.done()):
            return True
        if self._unshown() is not None:
            return True
        return self._call.done() if self._call is not None else self._wants()

    async def _advance(self) -> None:
        chance = Chance(lease_id=workflow.uuid4().hex, spread=workflow.random().random())
        question = self._pilot.ask(chance)
        answer = await workflow.execute_activity(
            "advance", question, result_type=Advanced, start_to_close_timeout=CALL, retry_policy=PATIENT,
            summary=self._summary(question),
        )  # fmt: skip
        self._pilot.learn(answer, _now())

    async def _pass_cancel_on(self) -> None:
        """Somebody cancelled the run in Temporal: the ledger must hear of it, and will answer by signal."""
        order = self._pilot.job.order
        await workflow.execute_activity(
            "cancel", args=[order.tenant_id, order.job_id], start_to_close_timeout=CALL, retry_policy=PATIENT
        )
        self._pilot.nudge()

    def _set_timer(self) -> None:
        fires_at = self._pilot.due()
        if fires_at is None or self._call is not None:
            return
        if self._begun() and not self._lasts:
            fires_at = min(fires_at, self._pilot.job.updated_at + SHOWN_AFTER)
        if self._timer is not None:
            if fires_at >= self._fires_at:
                return
            self._timer.cancel()
        self._fires_at = fires_at
        wait = self._pilot.until(fires_at, _now())
        self._timer = asyncio.create_task(workflow.sleep(wait / 1000))

    def _show(self) -> None:
        """Let Temporal's own lists show how the job stands."""
        status = self._unshown()
        if status is not None:
            self._status = status
            if self._attributes:
                workflow.upsert_search_attributes([STATUS.value_set(status)])

    def _unshown(self) -> str | None:
        """The status that Temporal's lists do not show yet.

        That a queued job has begun is shown when a timer fires: most jobs are over by then, and each change
        costs Temporal an event and a write.
        """
        status = JOB_STATUS[self._pilot.job.state]
        return None if status == self._status or (self._begun() and not self._lasts) else status

    def _begun(self) -> bool:
        """Whether the job is shown as queued, and is not."""
        status = JOB_STATUS[self._pilot.job.state]
        return self._status == JobState.QUEUED.value and status == JobState.IN_PROGRESS.value

    def _too_long(self) -> bool:
        """Whether a fresh run should go on. Not once cancelled: with the run Temporal forgets that."""
        return workflow.info().is_continue_as_new_suggested() and not self._cancelled

    def _summary(self, question: Advance) -> str:
        for step in self._pilot.job.steps:
            if step.attempt is not None and step.attempt.lease_id.startswith(question.lease_id):
                return f"{step.step_id}, attempt {step.attempt.attempt_no}"
        return "is something due?"

    async def _end(self) -> msg.Outcome:
        outcome = self._pilot.outcome()
        if self._pilot.lost:
            raise ApplicationError("The ledger does not know this job.", type=msg.UNKNOWN, non_retryable=True)
        if outcome.state is JobState.FAILED_FINAL:
            error = outcome.error
            words = f"{error.code}: {error.message}" if error else "no reason was given"
            raise ApplicationError(words, outcome, type=msg.FAILED, non_retryable=True)
        if outcome.state is JobState.CANCELLED:
            if not self._cancelled:
                await workflow.sleep(GRACE)  # it is thrown in here
                await self._pass_cancel_on()  # it was lost: the invoker sends it again
                await workflow.sleep(GRACE)
                words = "The job was cancelled."
                raise ApplicationError(words, outcome, type=msg.CANCELLED, non_retryable=True)
            raise asyncio.CancelledError
        return outcome


def _now() -> int:
    return workflow.time_ns() // 1_000_000
