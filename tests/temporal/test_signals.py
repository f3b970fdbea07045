from __future__ import annotations

import asyncio
from typing import Any

from temporalio.client import WorkflowExecutionStatus

from lucius.core import commands as cmd
from lucius.core.decide import Verdict
from lucius.core.states import JobState
from lucius.engines.temporal import messages as msg
from lucius.engines.temporal.signalling import WorkflowSignals
from lucius.testing.jobs import lost, protocol
from lucius.wire.messages import DirectiveMessage
from tests.temporal.world import LiveWorld

COMPLETED = WorkflowExecutionStatus.COMPLETED


class Held(WorkflowSignals):
    """Signals that are kept back, to be delivered as a test likes."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.kept: list[tuple[str, msg.Signal]] = []

    async def tell(self, job_id: str, signal: msg.Signal) -> bool:
        """Keep it."""
        self.kept.append((job_id, signal))
        return True

    async def let_go(self, *order: int) -> None:
        """Deliver these, in this order."""
        for index in order:
            await super().tell(*self.kept[index])


def _result(directive: DirectiveMessage, told: msg.Told, **more: Any) -> msg.StepResultTold:
    given = {
        "jobId": directive.job_id,
        "stepId": directive.step_id,
        "attempt_no": directive.attempt_no,
        "lease_id": directive.lease_id,
        "status": "SUCCEEDED",
        "told": told,
    }
    return msg.StepResultTold(**{**given, **more})


async def test_signals_doubled_and_out_of_order(world: LiveWorld) -> None:
    """RESULT before ACK, each three times: the job goes on once, and the late ones are old news."""
    job = await world.opened(steps=protocol("ocr", "sis"))
    directive = await world.take()
    held = Held(world.client)
    world.desk._telling._signals = held
    await world.acked(directive)
    await world.report(directive)
    world.desk._telling._signals = world.signals
    await held.let_go(1, 0, 1, 0, 1, 0)
    second = await world.take()
    assert (second.step_id, second.attempt_no) == ("sis", 1)
    await world.report(second)
    assert (await world.ended(job)).status is COMPLETED
    assert (await world.job(job)).attempts_total == 2


async def test_an_ack_that_was_never_told_is_not_missed(world: LiveWorld) -> None:
    """A signal lost on its way leaves a gap in the versions; the result that follows fills it."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    world.desk._telling._signals = Held(world.client)
    await world.acked(directive)
    world.desk._telling._signals = world.signals
    await world.report(directive)
    assert (await world.ended(job)).status is COMPLETED


async def test_a_signal_of_a_stale_attempt_changes_nothing(world: LiveWorld) -> None:
    """Whatever names another attempt or lease, or a version the ledger never had, makes the run ask."""
    job = await world.opened(steps=protocol("ocr", "sis"))
    directive = await world.take()
    version = (await world.row(job)).version
    wrongs: list[dict[str, Any]] = [{"lease_id": "0" * 32}, {"attempt_no": 7}, {"stepId": "nothing"}]
    for number, wrong in enumerate(wrongs, 1):
        lie = msg.Told(version=version + number, state=JobState.SUCCEEDED, at=world.clock())
        await world.signals.tell(job.job_id, _result(directive, lie, **wrong))
    await world.report(directive)
    second = await world.take()
    assert (second.step_id, second.attempt_no) == ("sis", 1)
    await world.report(second)
    ended = await world.ended(job)
    assert (ended.status, ended.outcome and ended.outcome.version) == (
        COMPLETED,
        (await world.row(job)).version,
    )


async def test_a_run_that_knows_too_much_believes_the_ledger(world: LiveWorld) -> None:
    """A version far ahead, as after a ledger was restored from a copy, is given up for what is there."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    lie = msg.Told(version=1_000, state=JobState.SUCCEEDED, at=world.clock())
    await world.signals.tell(job.job_id, _result(directive, lie, lease_id="0" * 32))
    await world.in_step(job)
    assert (await world.counts(job))["ACTIVITY_TASK_SCHEDULED"] == 2
    await world.report(directive)
    assert (await world.ended(job)).status is COMPLETED


async def test_rubbish_makes_a_run_ask(world: LiveWorld) -> None:
    """Signals that cannot be read, or that nobody knows, neither fail the run nor hold it up: it looks."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    await world.run(job).signal(msg.RESULT, "rubbish")
    await world.run(job).signal(msg.ACK, {"jobId": 1})
    await world.run(job).signal(msg.CONTROL)
    await world.run(job).signal(msg.NUDGE, args=["too", "much"])
    await world.run(job).signal("no_such_signal", 42)
    await world.report(directive)
    assert (await world.ended(job)).status is COMPLETED


async def test_a_signal_to_nobody_is_an_answer(world: LiveWorld) -> None:
    """Trap E5: what is told to a closed or unknown workflow is settled, not sent round in circles."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    await world.report(directive)
    await world.ended(job)
    assert await world.report(directive) is Verdict.DUPLICATE
    assert not await world.signals.nudge(job.job_id)
    assert not await world.signals.nudge("never-was")
    assert await world.signals.ending("never-was") == "never started"
    assert await world.signals.ending(job.job_id) == "completed"


async def test_signals_may_come_before_the_first_task(world: LiveWorld) -> None:
    """Paused, resumed and paused again before any worker was there: the first task knows all of it."""
    await world.worker_away()
    job = await world.opened(steps=protocol("ocr"))
    for command in (cmd.Pause(), cmd.Resume(), cmd.Pause()):
        await world.control(job, command)
    assert (await world.row(job)).state is JobState.PAUSED
    world.worker_back()
    known = await world.run(job).query("standing", result_type=msg.Start)
    assert known.standing.state is JobState.PAUSED
    assert (await world.counts(job))["ACTIVITY_TASK_SCHEDULED"] == 0
    await world.control(job, cmd.Resume())
    assert (await world.serve(job)).status is COMPLETED


async def test_two_hundred_signals_at_once(world: LiveWorld) -> None:
    """A storm of nudges costs a few questions, and the job goes on as if nothing had been."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    await asyncio.gather(*(world.signals.nudge(job.job_id) for _ in range(200)))
    await world.report(directive)
    assert (await world.ended(job)).status is COMPLETED
    counts = await world.counts(job)
    assert counts["WORKFLOW_EXECUTION_SIGNALED"] >= 200
    assert counts["ACTIVITY_TASK_SCHEDULED"] < 100
    assert (await world.job(job)).attempts_total == 1


async def test_a_retry_drawn_by_the_run_is_the_one_on_the_bus(world: LiveWorld) -> None:
    """Trap E2: attempt and lease of every directive are those that the workflow drew and the ledger has."""
    job = await world.opened(steps=protocol("ocr"))
    first = await world.take()
    await world.report(first, lost())
    assert (await world.row(job)).steps[0].execution_failures == 1
    known = await world.run(job).query("standing", result_type=msg.Start)
    attempt = known.standing.steps[0].attempt
    assert attempt is not None
    assert (attempt.attempt_no, attempt.lease_id) == (first.attempt_no, first.lease_id)
