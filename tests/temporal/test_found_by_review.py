from __future__ import annotations

import pytest
from temporalio.client import WorkflowExecutionStatus

from lucius.core import commands as cmd
from lucius.core.states import JobState
from lucius.engines.temporal import messages as msg
from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.engines.temporal.signalling import WorkflowSignals
from lucius.errors import Unavailable
from lucius.testing.jobs import protocol
from lucius.testing.temporal import TemporalServer
from lucius.wire.messages import DirectiveMessage
from tests.temporal.world import LiveWorld, attempt_of

SIGNALED = "WORKFLOW_EXECUTION_SIGNALED"


async def test_a_service_that_repeats_itself_does_not_fill_the_history(world: LiveWorld) -> None:
    """A workflow takes so many signals and no more: what it was told once is not told again."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    for _ in range(20):
        await world.acked(directive)
    for verb in (cmd.Pause(), cmd.Pause(), cmd.Pause()):
        await world.control(job, verb)
    await world.in_step(job)
    assert (await world.counts(job))[SIGNALED] == 2


async def test_a_reply_that_could_not_be_told_is_told_when_it_comes_again(world: LiveWorld) -> None:
    """Only what was delivered counts as told: the repeat of a reply whose signal failed goes out."""
    job = await world.opened(steps=protocol("ocr"))
    directive = await world.take()
    world.desk._telling._signals = Away(world.client)
    with pytest.raises(Unavailable):
        await world.acked(directive)
    world.desk._telling._signals = world.signals
    await world.acked(directive)
    await world.in_step(job)
    assert (await world.counts(job))[SIGNALED] == 1


async def test_a_workflow_that_takes_no_more_signals_is_not_temporal_being_away(world: LiveWorld) -> None:
    """What the server refuses for one workflow keeps neither its reply nor the timeouts of others waiting."""
    job = await world.opened(steps=protocol("ocr"))
    assert not await world.signals.tell(job.job_id, _too_large(await world.take()))


async def test_a_namespace_that_is_not_there_is_not_a_closed_workflow(temporal: TemporalServer) -> None:
    """Nothing can be told there, so a reply is not settled and no job is taken for one that never started."""
    client = await connect(Whereabouts(address=temporal.address, namespace="nowhere"))
    with pytest.raises(Unavailable):
        await WorkflowSignals(client).nudge("a-job")
    with pytest.raises(Unavailable):
        await WorkflowSignals(client).ending("a-job")


async def test_open_workflows_beyond_the_first_page_are_looked_at(world: LiveWorld) -> None:
    """The list begins with the newest: an old workflow whose job is over is found behind however many."""
    old = await world.opened(steps=protocol("ocr"))
    await world.take()
    await world.in_step(old)
    newer = await world.opened(steps=protocol("ocr"))
    await world.take()
    await world.desk._apply(old.job_id, cmd.GiveUp(reason="untold"))
    duty = world.left_open(page=1)

    async def found() -> bool:
        return int((await duty.run_once()).details.get("left_open", 0)) > 0

    await world.poll(found, "the second page of open workflows")
    assert (await world.ended(old)).status is WorkflowExecutionStatus.FAILED
    assert not (await world.row(newer)).terminal


class Away(WorkflowSignals):
    """Temporal, when something is to be told."""

    async def tell(self, job_id: str, signal: msg.Signal) -> bool:
        """Not now."""
        raise Unavailable("Temporal does not answer.", code="TEMPORAL_UNAVAILABLE")


def _too_large(directive: DirectiveMessage) -> msg.StepResultTold:
    attempt = attempt_of(directive)
    return msg.StepResultTold(
        jobId=directive.job_id,
        stepId=directive.step_id,
        attempt_no=attempt["attempt_no"],
        lease_id=attempt["lease_id"],
        status="SUCCEEDED",
        output_ref={"uri": "x" * 3_000_000},
        told=msg.Told(version=100, state=JobState.SUCCEEDED, at=0),
    )
