from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from lucius.core import commands as cmd
from lucius.core.decide import Verdict
from lucius.core.states import JobState, StepState
from lucius.errors import Broken
from lucius.testing.jobs import HOUR, MINUTE, SECOND, protocol
from lucius.usecases.retention import Retention
from tests.engines.outbox_world import OutboxWorld


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[OutboxWorld]:
    """An engine at work on a file of its own."""
    made = OutboxWorld(tmp_path / "ledger.db")
    await made.start()
    yield made
    await made.stop()


async def test_retention_forgets_a_page_a_round(world: OutboxWorld) -> None:
    """Old jobs go page by page, the report says when there is more, and young ones stay."""
    old = [await world.opened(steps=protocol("ocr")) for _ in range(3)]
    for job in old:
        await world.control(job, cmd.Cancel(force=True))
    world.clock.advance(2 * HOUR)
    young = await world.opened()
    await world.control(young, cmd.Cancel(force=True))
    duty = Retention(world.ledger, clock=world.clock, keep_ms=HOUR, page=2)
    reports = [await duty.run_once() for _ in range(3)]
    assert [(report.acted, report.more) for report in reports] == [(2, True), (1, False), (0, False)]
    assert (await world.job(young)).state is JobState.CANCELLED


async def test_a_broken_job_does_not_hold_up_the_due_ones(
    world: OutboxWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap B6: a job whose decision raises is reported, and those behind it are still ticked."""
    broken, fine = await world.opened(), await world.opened()
    await world.rest()
    apply = world.due._engine.apply

    def breaking(job_id: str, command: cmd.Command):
        if job_id == broken.job_id:
            raise Broken("on purpose")
        return apply(job_id, command)

    monkeypatch.setattr(world.due._engine, "apply", breaking)
    world.clock.advance(31 * SECOND)
    report = await world.due.run_once()
    assert (report.acted, report.details) == (1, {"due": 2, "broken": 1})
    assert (await world.step(fine)).dispatch_failures == 1


async def test_a_round_of_due_jobs_is_a_page(world: OutboxWorld) -> None:
    """A long backlog is worked off in pages, and the report asks for another round."""
    for _ in range(3):
        await world.opened(not_before=world.clock() + MINUTE)
    world.due._page = 2
    world.clock.advance(MINUTE)
    reports = [await world.due.run_once() for _ in range(3)]
    assert [(report.acted, report.more) for report in reports] == [(2, True), (1, False), (0, False)]


async def test_work_behind_a_busy_service_is_waited_for(world: OutboxWorld) -> None:
    """A service that is at one job and asks for no other is busy, not away: the next job loses nothing."""
    first, second = await world.opened(), await world.opened()
    taken = await world.take()
    await world.ack(taken)
    await world.rest()
    busy, waiting = (first, second) if taken.job_id == first.job_id else (second, first)
    for _ in range(6):
        await world.after(2 * MINUTE)
    assert (await world.step(busy)).state is StepState.IN_PROGRESS
    step = await world.step(waiting)
    assert (step.state, step.dispatch_failures) == (StepState.AWAITING_ACK, 0)


async def test_a_reader_that_never_acknowledges_is_no_excuse(world: OutboxWorld) -> None:
    """Whoever asked once and says nothing does not keep a directive waiting beyond its ACK timeout."""
    job = await world.opened()
    await world.take()
    await world.after(31 * SECOND)
    assert (await world.step(job)).dispatch_failures == 1
    await world.after(2 * MINUTE)
    await world.after(31 * SECOND)
    assert (await world.step(job)).dispatch_failures == 2


async def test_replies_without_an_event_are_counted(
    world: OutboxWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a reply of no job, or of a job with enough events, leaves behind is its count."""
    counted: list[tuple[str, str]] = []
    monkeypatch.setattr(world.engine, "_untraced", lambda reply, verdict: counted.append((reply, verdict)))
    job = await world.opened()
    taken = await world.take()
    await world.ack(msgspec.structs.replace(taken, job_id="nobody"))
    await world.rest()
    await world.ack(taken)
    await world.rest()
    assert counted == [("ACK", "unknown")]
    answer = await world.engine.report(
        "other", job.job_id, cmd.Ack(step_id="ocr", attempt_no=1, lease_id="x")
    )
    assert (answer.verdict, answer.job) == (Verdict.UNKNOWN, None)
    assert counted == [("ACK", "unknown")] * 2
