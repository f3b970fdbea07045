"""What an engine promises when things break: bus outages, crashes, lost, late and repeated replies."""

from __future__ import annotations

from msgspec.structs import replace

from lucius.core import commands as cmd
from lucius.core.decide import Verdict
from lucius.core.states import JobState, StepState
from lucius.ports.bus import Message
from lucius.ports.ledger import JobQuery
from lucius.testing.engine_harness import EngineHarness
from lucius.testing.jobs import HOUR, MINUTE, SECOND, lost, protocol, recipe


class EngineFaults:
    """The bad days."""

    async def test_an_absent_bus_burns_no_attempt(self, harness: EngineHarness) -> None:
        """Trap B1: however long the bus is away, it is the same attempt, lease and bytes when it is back."""
        harness.bus.away = True
        job = await harness.opened()
        for _ in range(10):
            await harness.after(2 * MINUTE)
        before = await harness.step(job)
        assert before.attempt is not None
        assert (before.state, before.attempt.attempt_no) == (StepState.DISPATCHING, 1)
        assert before.attempt.publish_tries > 0
        (kept,) = await harness.ledger.outbox([job.job_id])
        await harness.bus_back()
        directive = await harness.take()
        assert (directive.attempt_no, directive.lease_id) == (1, before.attempt.lease_id)
        assert harness.bus.bodies(job.job_id) == [kept.body]
        assert (await harness.step(job)).dispatch_failures == 0

    async def test_an_absent_bus_is_not_stormed(self, harness: EngineHarness) -> None:
        """Trap B7: of fifty waiting directives one at a time asks whether the bus is back, sweeps or not."""
        harness.bus.away = True
        for _ in range(50):
            await harness.opened()
        await harness.rest()
        before = len(harness.bus.tries)
        for _ in range(5):
            await harness.after(2 * MINUTE)
        assert set(harness.bus.tries[before:]) <= {1}

    async def test_a_bus_that_never_comes_back_ends_the_step(self, harness: EngineHarness) -> None:
        """At the dispatch deadline the job fails, with that reason, on its first attempt."""
        harness.bus.away = True
        job = await harness.opened()
        await harness.rest()
        await harness.after(HOUR)
        over = await harness.job(job)
        assert over.error is not None
        assert (over.state, over.error.code) == (JobState.FAILED_FINAL, "DISPATCH_DEADLINE")
        assert over.attempts_total == 1
        await harness.bus_back()
        assert await harness.waiting() == []

    async def test_a_poisoned_directive_stops_nobody(self, harness: EngineHarness) -> None:
        """Trap B6: what the bus will never take fails alone and in time, without spinning."""
        harness.bus.poison.add("POISON")
        harness.bus.away = True
        good = [await harness.opened(steps=protocol("ocr"))]
        bad = await harness.opened(steps=protocol("poison"))
        good += [await harness.opened(steps=protocol("ocr")) for _ in range(3)]
        await harness.rest()
        await harness.bus_back()
        assert sorted(await harness.waiting()) == sorted(job.job_id for job in good)
        for job in good:
            await harness.control(job, cmd.Cancel(force=True))
        before = len(harness.bus.tries)
        for _ in range(6):
            await harness.after(10 * MINUTE)
        assert len(harness.bus.tries) - before <= 12
        over = await harness.job(bad)
        assert over.error is not None
        assert (over.error.code, over.attempts_total) == ("DISPATCH_DEADLINE", 1)

    async def test_publishing_again_sends_the_same_bytes(self, harness: EngineHarness) -> None:
        """Traps B3, B5: whoever publishes an attempt, and however often, it is one message."""
        job = await harness.opened()
        await harness.rest()
        for _ in range(3):
            assert await harness.engine.republish([job.job_id]) == 1
            await harness.rest()
        bodies = harness.bus.bodies(job.job_id)
        assert (len(bodies), len(set(bodies))) == (4, 1)
        assert await harness.waiting() == [job.job_id]

    async def test_a_restart_republishes_what_is_open(self, harness: EngineHarness) -> None:
        """Trap B5: after a crash the same bytes, attempt and lease go out for all that is not answered."""
        sent, begun = await harness.opened(), await harness.opened()
        first = {}
        for _ in range(2):
            directive = await harness.take()
            first[directive.job_id] = directive
        await harness.ack(first[begun.job_id])
        assert (await harness.step(begun)).state is StepState.IN_PROGRESS
        await harness.restart()
        again = {}
        for _ in range(2):
            directive = await harness.take()
            again[directive.job_id] = directive
        assert again == first
        for job in (sent, begun):
            assert await harness.report(again[job.job_id]) is Verdict.ACCEPTED
            await harness.check_directives(job)
            assert (await harness.step(job)).state is StepState.SUCCEEDED

    async def test_a_crash_before_publishing_loses_nothing(self, harness: EngineHarness) -> None:
        """Trap A3: accepted while the bus was away, then a crash: it goes out at the next start."""
        harness.bus.away = True
        job = await harness.opened()
        await harness.restart()
        assert (await harness.take()).job_id == job.job_id

    async def test_a_crash_between_steps_is_no_gap(self, harness: EngineHarness) -> None:
        """Trap C2: the success that was answered has its next directive, whatever happens right after."""
        job = await harness.opened()
        assert await harness.report(await harness.take()) is Verdict.ACCEPTED
        await harness.restart()
        assert (await harness.take()).step_type == "EMBEDDING"
        assert (await harness.step(job)).state is StepState.SUCCEEDED

    async def test_paused_work_stays_paused_over_a_restart(self, harness: EngineHarness) -> None:
        """Trap B4: a restart publishes nothing of a job that waits for its resume."""
        harness.bus.away = True
        job = await harness.opened()
        before = (await harness.step(job)).attempt
        assert before is not None
        await harness.control(job, cmd.Pause())
        await harness.restart()
        assert await harness.waiting() == []
        await harness.control(job, cmd.Resume())
        assert (await harness.take()).lease_id == before.lease_id

    async def test_a_result_needs_no_ack(self, harness: EngineHarness) -> None:
        """Trap C1: work whose ACK was lost is not done again."""
        job = await harness.opened()
        assert await harness.report(await harness.take()) is Verdict.ACCEPTED
        assert (await harness.step(job)).state is StepState.SUCCEEDED

    async def test_a_result_again_is_the_same_result(self, harness: EngineHarness) -> None:
        """Traps C3, C4: the same RESULT is a duplicate, another one a conflict, also when the job is over."""
        job = await harness.opened(steps=protocol("ocr"))
        directive = await harness.take()
        verdicts = [
            await harness.report(directive),
            await harness.report(directive),
            await harness.report(directive, lost(final=True)),
        ]
        assert verdicts == [Verdict.ACCEPTED, Verdict.DUPLICATE, Verdict.CONFLICT]
        assert (await harness.job(job)).state is JobState.SUCCEEDED

    async def test_nobody_there_is_another_attempt_later(self, harness: EngineHarness) -> None:
        """An unread directive in a queue nobody reads is given up, backed off, and sent as a new attempt."""
        job = await harness.opened()
        await harness.rest()
        await harness.after(31 * SECOND)
        step = await harness.step(job)
        assert (step.state, step.dispatch_failures) == (StepState.FAILED_RETRY, 1)
        await harness.after(2 * MINUTE)
        directive = await harness.take()
        assert directive.attempt_no == 2
        assert await harness.waiting() == []

    async def test_a_busy_queue_is_no_failure(self, harness: EngineHarness) -> None:
        """Trap B7: while its queue is being read, an unread directive is waited for, not replaced."""
        if not harness.bus.capabilities.knows_unread:
            return
        jobs = [await harness.opened() for _ in range(6)]
        for _ in range(5):
            await harness.ack(await harness.take())
            await harness.rest()
            await harness.after(31 * SECOND)
        # Which of them is last is the queue's affair.
        steps = [await harness.step(job) for job in jobs]
        assert sorted(step.state for step in steps) == [StepState.AWAITING_ACK] + [StepState.IN_PROGRESS] * 5
        assert [step.attempt.attempt_no for step in steps if step.attempt is not None] == [1] * 6
        assert [step.dispatch_failures for step in steps] == [0] * 6

    async def test_work_that_failed_is_tried_again(self, harness: EngineHarness) -> None:
        """Trap C6: FAILED_RETRY has a due time, and at it a new attempt under a new lease."""
        job = await harness.opened()
        first = await harness.take()
        await harness.report(first, lost("BUSY"))
        assert (await harness.step(job)).state is StepState.FAILED_RETRY
        await harness.after(31 * SECOND)
        second = await harness.take()
        assert (second.attempt_no, second.lease_id != first.lease_id) == (2, True)
        assert await harness.report(first) is Verdict.STALE_LEASE

    async def test_a_silent_service_loses_its_lease(self, harness: EngineHarness) -> None:
        """Trap C5: three leases that end are the end, and the rest of the job ends with it."""
        job = await harness.opened()
        for attempt_no in (1, 2, 3):
            directive = await harness.take()
            assert directive.attempt_no == attempt_no
            await harness.ack(directive)
            await harness.rest()
            await harness.after(15 * MINUTE + 1)
            await harness.after(10 * MINUTE)
        over = await harness.job(job)
        assert over.error is not None
        assert over.error.code == "LEASE_EXPIRED"
        assert [step.state for step in over.steps] == ["FAILED_FINAL", "CANCELLED", "CANCELLED"]
        assert [letter.job_id for letter in await harness.ledger.dead_letters(JobQuery())] == [job.job_id]

    async def test_a_heartbeat_keeps_the_lease(self, harness: EngineHarness) -> None:
        """Work that says it goes on is left alone."""
        job = await harness.opened()
        directive = await harness.take()
        beat = cmd.Heartbeat(step_id="ocr", attempt_no=1, lease_id=directive.lease_id)
        for _ in range(4):
            await harness.engine.report("acme", job.job_id, beat)
            await harness.after(10 * MINUTE)
        assert (await harness.step(job)).state is StepState.IN_PROGRESS

    async def test_the_last_retry_is_final(self, harness: EngineHarness) -> None:
        """Trap C5: a service that asks for a retry when none is left ends the job with its reason."""
        job = await harness.opened(steps=protocol(recipe("ocr", max_execution_attempts=1)))
        await harness.report(await harness.take(), lost("OOM"))
        over = await harness.job(job)
        assert over.error is not None
        assert (over.state, over.error.code) == (JobState.FAILED_FINAL, "OOM")

    async def test_a_reply_nobody_can_read_stops_no_other(self, harness: EngineHarness) -> None:
        """A malformed reply is put aside; the good one behind it is judged."""
        job = await harness.opened()
        directive = await harness.take()
        good = harness.bus.taken[0]
        await harness.bus.publish([_reply(good, b'{"type":"RESULT"}'), _reply(good, b"\xff")])
        await harness.deliver(directive)
        assert (await harness.take()).step_type == "EMBEDDING"
        assert (await harness.step(job)).state is StepState.SUCCEEDED
        assert len(await harness.bus.dead_letters()) == 2

    async def test_time_alone_changes_nothing_that_is_over(self, harness: EngineHarness) -> None:
        """S1: sweeps and late replies leave a finished job as it is."""
        job = await harness.opened()
        over = await harness.finish(job)
        await harness.after(9 * HOUR)
        assert await harness.job(job) == over
        assert await harness.waiting() == []


def _reply(like: Message, body: bytes) -> Message:
    return replace(
        like,
        message_id=f"bad-{len(body)}",
        topic="global-bus-replies-p1",
        subject="RESULT",
        body=body,
        properties={},
    )
