"""What an engine promises to people: cancel, pause and resume, at any moment."""

from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core.admission import Limits
from lucius.core.decide import Verdict
from lucius.core.states import JobState, StepState
from lucius.errors import Saturated
from lucius.testing.engine_harness import EngineHarness
from lucius.testing.jobs import HOUR, MINUTE, lost, protocol


class EngineControl:
    """Cancel, pause, resume."""

    async def test_cancelled_before_it_went_out_is_never_sent(self, harness: EngineHarness) -> None:
        """Traps B4, D1: cancelled at once while the bus was away, and nothing goes out when it is back."""
        harness.bus.away = True
        gone, kept = await harness.opened(), await harness.opened()
        await harness.rest()
        answer = await harness.control(gone, cmd.Cancel())
        assert answer.job is not None
        assert answer.job.state is JobState.CANCELLED
        await harness.bus_back()
        assert await harness.waiting() == [kept.job_id]
        assert harness.bus.bodies(gone.job_id) == []

    async def test_paused_before_it_went_out_is_not_sent(self, harness: EngineHarness) -> None:
        """Trap B4: a paused job's directive waits for the resume, and then goes out with its own bytes."""
        harness.bus.away = True
        job = await harness.opened()
        await harness.rest()
        (kept,) = await harness.ledger.outbox([job.job_id])
        await harness.control(job, cmd.Pause())
        await harness.bus_back()
        assert await harness.waiting() == []
        await harness.control(job, cmd.Resume())
        assert (await harness.take()).attempt_no == 1
        assert harness.bus.bodies(job.job_id) == [kept.body]

    async def test_a_cancel_waits_for_the_step_in_flight(self, harness: EngineHarness) -> None:
        """The step may finish; then the job is CANCELLED, and nothing follows."""
        job = await harness.opened()
        directive = await harness.take()
        await harness.control(job, cmd.Cancel())
        assert (await harness.job(job)).state is JobState.CANCELLING
        assert await harness.report(directive) is Verdict.ACCEPTED
        over = await harness.job(job)
        assert [over.state, *(step.state for step in over.steps)] == [
            "CANCELLED", "SUCCEEDED", "CANCELLED", "CANCELLED",
        ]  # fmt: skip
        assert await harness.waiting() == []

    async def test_a_cancel_ends_with_the_lease(self, harness: EngineHarness) -> None:
        """Trap D2, L3: a service that never answers holds a cancel up for its lease and no longer."""
        job = await harness.opened()
        await harness.ack(await harness.take())
        await harness.rest()
        await harness.control(job, cmd.Cancel())
        await harness.after(15 * MINUTE + 1)
        assert (await harness.job(job)).state is JobState.CANCELLED
        assert await harness.waiting() == []

    async def test_a_forced_cancel_does_not_wait(self, harness: EngineHarness) -> None:
        """Terminal at once; the unread directive is taken back, the late result told so."""
        job = await harness.opened()
        directive = await harness.take()
        await harness.control(job, cmd.Cancel(force=True))
        assert (await harness.job(job)).state is JobState.CANCELLED
        assert await harness.report(directive) is Verdict.AFTER_TERMINAL
        unread = await harness.opened()
        await harness.rest()
        await harness.control(unread, cmd.Cancel(force=True))
        if harness.bus.capabilities.withdraws:
            assert await harness.waiting() == []

    async def test_a_cancel_and_the_last_result_have_one_winner(self, harness: EngineHarness) -> None:
        """Trap D3: asked at once, the job is over once, and both are told the same."""
        job = await harness.opened(steps=protocol("ocr"))
        directive = await harness.take()
        cancelled = harness.engine.control(job.job_id, cmd.Cancel(), Limits())
        assert await harness.report(directive) is Verdict.ACCEPTED
        assert (await cancelled).verdict is Verdict.ACCEPTED
        over = await harness.job(job)
        assert (over.state, over.final_output) == (JobState.CANCELLED, None)

    async def test_a_lease_that_ends_in_a_pause_starts_nothing(self, harness: EngineHarness) -> None:
        """Trap D4: the step is parked; the resume makes the next attempt, once."""
        job = await harness.opened()
        await harness.ack(await harness.take())
        await harness.rest()
        await harness.control(job, cmd.Pause())
        await harness.after(HOUR)
        parked = await harness.job(job)
        assert (parked.state, parked.steps[0].state) == (JobState.PAUSED, StepState.FAILED_RETRY)
        await harness.after(9 * HOUR)
        assert await harness.waiting() == []
        await harness.control(job, cmd.Resume())
        assert (await harness.take()).attempt_no == 2
        assert await harness.waiting() == []

    async def test_resuming_twice_sends_once(self, harness: EngineHarness) -> None:
        """Trap D5: two resumes, one directive."""
        harness.bus.away = True
        job = await harness.opened()
        await harness.control(job, cmd.Pause())
        await harness.bus_back()
        both = [harness.engine.control(job.job_id, cmd.Resume(), Limits()) for _ in range(2)]
        assert [(await each).verdict for each in both] == [Verdict.ACCEPTED, Verdict.DUPLICATE]
        await harness.rest()
        assert len(harness.bus.bodies(job.job_id)) == 1

    async def test_a_resume_takes_up_a_waiting_retry(self, harness: EngineHarness) -> None:
        """Trap D6: a step that waited for its retry when it was paused goes on with the resume."""
        job = await harness.opened()
        await harness.report(await harness.take(), lost())
        await harness.control(job, cmd.Pause())
        assert (await harness.job(job)).state is JobState.PAUSED
        await harness.control(job, cmd.Resume())
        assert (await harness.take()).attempt_no == 2

    async def test_a_pause_lets_the_step_in_flight_finish(self, harness: EngineHarness) -> None:
        """PAUSING until it is done, then PAUSED before the next; the resume goes on there."""
        job = await harness.opened()
        directive = await harness.take()
        await harness.control(job, cmd.Pause())
        assert (await harness.job(job)).state is JobState.PAUSING
        await harness.report(directive)
        assert (await harness.job(job)).state is JobState.PAUSED
        assert await harness.waiting() == []
        await harness.control(job, cmd.Resume())
        assert (await harness.take()).step_type == "EMBEDDING"

    async def test_a_paused_job_gives_its_slot_back(self, harness: EngineHarness) -> None:
        """Trap A8: another may run meanwhile; the resume has to find a free slot, or is refused."""
        limits = Limits(tenant_jobs=1)
        job = await harness.opened(limits)
        await harness.rest()
        directive = await harness.take()
        await harness.control(job, cmd.Pause())
        await harness.report(directive)
        other = await harness.opened(limits)
        try:
            await harness.control(job, cmd.Resume(), limits)
        except Saturated:
            assert (await harness.job(job)).state is JobState.PAUSED
        else:
            raise AssertionError("no slot is free")
        await harness.finish(other)
        assert (await harness.control(job, cmd.Resume(), limits)).verdict is Verdict.ACCEPTED

    async def test_asking_of_no_job_is_answered(self, harness: EngineHarness) -> None:
        """An id nobody has is unknown, not an error."""
        answer = await harness.engine.control("nobody", cmd.Cancel(), Limits())
        assert (answer.verdict, answer.job) == (Verdict.UNKNOWN, None)

    async def test_what_is_over_refuses(self, harness: EngineHarness) -> None:
        """A finished job answers cancel, pause and resume with the same clear no."""
        job = await harness.opened(steps=protocol("ocr"))
        over = await harness.finish(job)
        for command in (cmd.Cancel(), cmd.Pause(), cmd.Resume()):
            answer = await harness.control(job, command)
            assert answer.refusal is not None
            assert answer.refusal.code == "JOB_TERMINAL"
        assert await harness.job(job) == over
