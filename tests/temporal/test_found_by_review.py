from __future__ import annotations

import pytest
from temporalio.client import WorkflowExecutionStatus

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Verdict, open_job
from lucius.core.job import Job
from lucius.core.states import JobState
from lucius.engines.temporal import messages as msg
from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.engines.temporal.drift import Overdue
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.engines.temporal.recording import recorded
from lucius.engines.temporal.signalling import WorkflowSignals
from lucius.errors import Unavailable
from lucius.ports.invoker import Advance, Advanced, Attempted
from lucius.testing.jobs import order, protocol, recipe
from lucius.testing.temporal import TemporalServer
from lucius.wire.messages import DirectiveMessage
from tests.engines.temporal_world import Counted
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


def test_an_attempt_recorded_by_name_has_the_lease_it_was_given() -> None:
    """Of steps side by side only the named one starts, and asking again finds the same attempt."""
    asked = order(protocol=protocol(recipe("ocr", group="both"), recipe("sis", group="both")))
    job = open_job(asked, Chance(lease_id="")).job
    minted = Attempted(
        job_id=job.job_id, tenant_id=asked.tenant_id, step_id="sis", attempt_no=1, lease_id="the-lease"
    )
    first = recorded(job, minted, asked.accepted_at + 1)
    leases = [step.attempt.lease_id if step.attempt else None for step in first.job.steps]
    assert (first.created, leases) == ((1,), [None, "the-lease"])
    assert recorded(first.job, minted, asked.accepted_at + 2).verdict is Verdict.DUPLICATE


async def test_one_invoker_that_does_not_know_a_job_does_not_end_it(world: LiveWorld) -> None:
    """An invoker on the wrong ledger says so once or twice; the right one is asked after it, and goes on."""
    world.invoker.advance = Stranger(world.invoker).advance  # type: ignore[method-assign]
    job = await world.opened(steps=protocol("ocr"))
    assert (await world.serve(job)).status is WorkflowExecutionStatus.COMPLETED


async def test_starts_do_not_wait_longer_for_a_temporal_that_was_away_longer(world: LiveWorld) -> None:
    """After an hour without Temporal, what could not be started is started within seconds, not minutes."""
    world.engine._starts = Away(world.client)  # type: ignore[attr-defined]
    await world.opened(steps=protocol("ocr"))
    now = world.clock()
    duty = LostStarts(world.ledger, Away(world.client), clock=lambda: now)
    for _ in range(60):
        now += 60_000
        with pytest.raises(Unavailable):
            await duty.run_once()
    duty._starts = world.starts
    now += 5_000
    assert (await duty.run_once()).acted == 1


async def test_many_lost_starts_are_not_started_a_page_every_two_seconds(world: LiveWorld) -> None:
    """A duty that has started a full page says that there is more, and is not put to rest."""
    world.engine._starts = Away(world.client)  # type: ignore[attr-defined]
    for _ in range(3):
        await world.opened(steps=protocol("ocr"))
    duty = LostStarts(world.ledger, world.starts, clock=lambda: world.clock() + 5_000, page=2)
    rounds = [await duty.run_once() for _ in range(2)]
    assert [(report.acted, report.more) for report in rounds] == [(2, True), (1, False)]


async def test_nudges_do_not_wait_longer_for_a_temporal_that_was_away_longer(world: LiveWorld) -> None:
    """After an hour without Temporal, a workflow that is late is nudged within seconds, not minutes."""
    await world.opened(steps=protocol("ocr"))
    await world.take()
    now = world.clock()
    duty = Overdue(world.ledger, Away(world.client), world.desk.closing, clock=lambda: now)
    for _ in range(60):
        now += 60_000
        with pytest.raises(Unavailable):
            await duty.run_once()
    duty._signals = world.signals
    now += 10_000
    assert (await duty.run_once()).acted == 1


class Stranger:
    """Does not know the job when asked for the first two times."""

    def __init__(self, invoker: Counted) -> None:
        self._advance = invoker.advance
        self._asked = 0

    async def advance(self, ask: Advance) -> Advanced:
        """As the invoker, later."""
        self._asked += 1
        return await self._advance(ask) if self._asked > 2 else Advanced(standing=None, now=0)


class Away(WorkflowSignals):
    """Temporal, when something is to be told or started."""

    async def start(self, job: Job) -> bool:
        """Nor this."""
        raise Unavailable("Temporal does not answer.", code="TEMPORAL_UNAVAILABLE")

    async def nudge(self, job_id: str) -> bool:
        """Nor this."""
        raise Unavailable("Temporal does not answer.", code="TEMPORAL_UNAVAILABLE")

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
