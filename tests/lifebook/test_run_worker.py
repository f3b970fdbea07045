"""One worker, one delivery: what every end of it leaves behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from lucius.lifebook.core.events import CANCELED, COMPLETED
from lucius.lifebook.core.run import Envelope, envelope_of
from lucius.lifebook.core.states import Status, TriggerType
from lucius.lifebook.ports.queue import MAX_RECEIVES
from lucius.lifebook.workflows import PoisonError, Registry, StepContext, StepError, StepResult
from tests.lifebook.world import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A lifebook in virtual time."""
    async with opened() as made:
        yield made


class Diary:
    """Steps that write down that they ran, and fail where they are told to."""

    def __init__(self, *failing: tuple[str, int]) -> None:
        self.ran: list[tuple[str, int]] = []
        self.failing = failing

    async def __call__(self, context: StepContext) -> str:
        """Write down, then fail or make something."""
        self.ran.append((context.step, context.attempt))
        if (context.step, context.attempt) in self.failing:
            raise StepError("told to fail", code="TOLD")
        return f"made://{context.step_key}"

    @property
    def step(self) -> Any:
        """As a coroutine function."""

        async def run(context: StepContext) -> str:
            return await self(context)

        return run


async def test_a_run_goes_from_its_first_step_to_its_end(world: World) -> None:
    """Every step runs once, in order, and sees what those before it made; credits and event follow."""
    seen: list[dict[str, str]] = []
    diary = Diary()

    async def last(context: StepContext) -> StepResult:
        seen.append(dict(context.artifacts))
        return StepResult(artifact="made://end", credits=40)

    world.workflow(diary.step, diary.step, last)
    run = await world.created()
    assert run.status is Status.QUEUED
    await world.until_quiet()
    ended = await world.run(run.job_id)
    assert (ended.status, ended.step_cursor, ended.attempts) == (Status.COMPLETED, 3, 1)
    assert diary.ran == [("step-1", 1), ("step-2", 1)]
    assert seen == [{"step-1": f"made://{run.job_id}/0", "step-2": f"made://{run.job_id}/1"}]
    assert (ended.credits_spent, ended.credits_reserved) == (240, 0)
    assert await world.events() == [(COMPLETED, run.job_id)]
    await world.balanced()


async def test_a_failed_attempt_resumes_at_its_cursor(world: World) -> None:
    """After a failure the message comes back after its backoff, and steps that are done stay done."""
    diary = Diary(("step-2", 1))
    world.workflow(diary.step, diary.step)
    run = await world.created()
    await world.until_quiet()
    failed = await world.run(run.job_id)
    assert (failed.status, failed.step_cursor, failed.last_error_code) == (Status.FAILED, 1, "TOLD")
    world.time.advance(29.9)
    assert not await world.once()
    world.time.advance(0.2)
    await world.until_quiet()
    assert (await world.run(run.job_id)).status is Status.COMPLETED
    assert diary.ran == [("step-1", 1), ("step-2", 1), ("step-2", 2)]
    await world.balanced()


async def test_attempts_run_out(world: World) -> None:
    """After the last attempt the run is dead, its message a dead letter, and analytics hears of it once."""
    diary = Diary(*(("step-2", attempt) for attempt in range(1, 6)))
    world.workflow(diary.step, diary.step)
    run = await world.created()
    for _ in range(5):
        await world.until_quiet()
        world.time.advance(2200)
    await world.until_quiet()
    dead = await world.run(run.job_id)
    assert (dead.status, dead.attempts, dead.credits_spent) == (Status.DEAD, 5, 100)
    assert [letter.run for letter in await world.letters.list()] == [dead]
    assert await world.events() == [(COMPLETED, run.job_id)]
    assert len(diary.ran) == 6
    await world.balanced()


async def test_a_doubled_message_does_nothing(world: World) -> None:
    """Further messages of a run that has completed are deleted; no step runs, nothing is charged."""
    diary = Diary()
    world.workflow(diary.step)
    run = await world.created()
    for _ in range(3):
        await world.queue.send(envelope_of(run), send_no=1)
    await world.until_quiet()
    assert diary.ran == [("step-1", 1)]
    assert await world.letters.list() == []
    await world.balanced()


async def test_two_messages_at_once_run_one_step(world: World) -> None:
    """While one worker holds the run, another's older message is deleted and the newest is put off."""
    begun, free = asyncio.Event(), asyncio.Event()
    count = 0

    async def slow(_context: StepContext) -> None:
        nonlocal count
        count += 1
        begun.set()
        await free.wait()

    world.workflow(slow)
    run = await world.created()
    await world.queue.send(envelope_of(run), send_no=1)
    await world.queue.send(envelope_of(run), send_no=0)
    first, second, third = [await world.message() for _ in range(3)]
    working = asyncio.create_task(world.worker("a").handle(first))
    await begun.wait()
    by_number = {message.send_no: message for message in (second, third)}
    assert await world.worker("b").handle(by_number[0]) is True
    assert await world.worker("b").handle(by_number[1]) is False
    free.set()
    assert await working is True
    assert count == 1
    await world.balanced()


async def test_a_crashed_worker_is_replaced(world: World) -> None:
    """A worker vanishes in step 3 of 5: after its lease another goes on there, and steps 1–2 stay done."""
    diary, begun = Diary(), asyncio.Event()

    async def hangs(context: StepContext) -> str:
        if context.attempt == 1:
            begun.set()
            await asyncio.Event().wait()
        return await diary(context)

    world.workflow(diary.step, diary.step, hangs, diary.step, diary.step)
    run = await world.created()
    vanishing = asyncio.create_task(world.once(world.worker("a")))
    await begun.wait()
    vanishing.cancel()
    await asyncio.gather(vanishing, return_exceptions=True)
    assert not await world.once(world.worker("b"))
    world.time.advance(66)
    await world.until_quiet(world.worker("b"))
    ended = await world.run(run.job_id)
    assert (ended.status, ended.attempts) == (Status.COMPLETED, 2)
    assert diary.ran == [("step-1", 1), ("step-2", 1), ("step-3", 2), ("step-4", 2), ("step-5", 2)]
    await world.balanced()


async def test_a_worker_that_was_taken_for_dead_changes_nothing(world: World) -> None:
    """A zombie that comes back after another took its run over is refused, charges nothing, ends quietly."""
    begun, free = asyncio.Event(), asyncio.Event()
    ran: list[int] = []

    async def slow(context: StepContext) -> str:
        ran.append(context.attempt)
        if context.attempt == 1:
            begun.set()
            await free.wait()
        return f"made://by-{context.attempt}"

    world.workflow(slow)
    run = await world.created()
    zombie_store = type(world.store)(world.store._inner)
    message = await world.message()
    zombie = asyncio.create_task(world.worker("zombie", store=zombie_store).handle(message))
    await begun.wait()
    zombie_store.away = lambda _name: True  # it hears nothing and cannot beat
    world.time.advance(66)
    await world.until_quiet(world.worker("b"))
    zombie_store.away = lambda _name: False
    free.set()
    assert await zombie is True  # the run is completed: its message is done with
    ended = await world.run(run.job_id)
    assert (ended.status, ended.artifacts) == (Status.COMPLETED, {"step-1": "made://by-2"})
    assert ran == [1, 2]
    assert await world.events() == [(COMPLETED, run.job_id)]
    await world.balanced()


async def test_cancel_reaches_a_step_at_work(world: World) -> None:
    """A canceled run tells the step in flight by its token at the next heartbeat; nothing after it runs."""
    begun = asyncio.Event()
    stopped: list[str] = []
    diary = Diary()

    async def loops(context: StepContext) -> None:
        begun.set()
        while True:
            await asyncio.sleep(0)
            if context.token.stopped:
                stopped.append(context.token.reason)
                context.token.raise_if_stopped()

    world.workflow(diary.step, loops, diary.step)
    run = await world.created()
    message = await world.message()
    working = asyncio.create_task(world.worker().handle(message))
    await begun.wait()
    canceled = await world.control.cancel(await world.run(run.job_id), reason="enough")
    assert canceled.status is Status.CANCELED
    while not stopped:
        world.time.advance(20)
        await asyncio.sleep(0.01)
    assert await working is True
    assert stopped == ["the run is canceled"]
    assert diary.ran == [("step-1", 1)]
    assert await world.events() == [(CANCELED, run.job_id)]
    assert (await world.run(run.job_id)).credits_spent == 100
    await world.balanced()


async def test_a_run_is_handed_on_before_time_is_over(world: World) -> None:
    """With too little time for another step the run goes on with a new message, in the same attempt."""
    diary = Diary()
    world.workflow(diary.step, diary.step, diary.step)
    run = await world.created()
    message = await world.message()
    assert await world.worker("short").handle(message, time_left=lambda: 20.0) is True
    await world.queue.delete(message)
    between = await world.run(run.job_id)
    assert (between.status, between.step_cursor, between.attempts) == (Status.QUEUED, 1, 1)
    await world.until_quiet()
    ended = await world.run(run.job_id)
    assert (ended.status, ended.attempts) == (Status.COMPLETED, 1)
    assert diary.ran == [("step-1", 1), ("step-2", 1), ("step-3", 1)]
    assert await world.letters.list() == []


async def test_a_draining_worker_hands_its_runs_on(world: World) -> None:
    """A worker that is told to stop between two steps loses no attempt and no step."""
    diary, worker = Diary(), world.worker("leaving")

    async def drains(context: StepContext) -> str:
        worker.drain()
        return await diary(context)

    world.workflow(drains, diary.step)
    run = await world.created()
    assert await world.once(worker)
    await world.until_quiet(world.worker("next"))
    assert (await world.run(run.job_id)).attempts == 1
    assert diary.ran == [("step-1", 1), ("step-2", 1)]


async def test_poison_is_dead_at_once(world: World) -> None:
    """A step that says that trying again cannot help ends the run with its first attempt."""

    async def poisonous(_context: StepContext) -> None:
        raise PoisonError("page 3 is not a page", code="UNREADABLE")

    world.workflow(poisonous)
    run = await world.created()
    await world.until_quiet()
    dead = await world.run(run.job_id)
    assert (dead.status, dead.attempts, dead.last_error_code) == (Status.DEAD, 1, "UNREADABLE")
    assert len(await world.letters.list()) == 1


async def test_a_run_that_kills_workers_is_poison(world: World) -> None:
    """When three workers were lost in one step, the run is taken for the cause, before attempts run out."""
    begun = asyncio.Event()

    async def kills(_context: StepContext) -> None:
        begun.set()
        await asyncio.Event().wait()

    world.workflow(kills)
    run = await world.created()
    for number in range(3):
        vanishing = asyncio.create_task(world.once(world.worker(f"w{number}")))
        await begun.wait()
        begun.clear()
        vanishing.cancel()
        await asyncio.gather(vanishing, return_exceptions=True)
        world.time.advance(66)
    with capture_logs() as lines:
        await world.until_quiet()
    dead = await world.run(run.job_id)
    assert (dead.status, dead.attempts, dead.last_error_code) == (Status.DEAD, 3, "POISON")
    assert [line["code"] for line in lines if line["event"] == "workers lost"] == ["POISON"]
    await world.balanced()


@pytest.mark.parametrize("field", ["v", "workspace_id", "job_id"])
async def test_a_message_that_names_no_run_of_ours_becomes_a_dead_letter(world: World, field: str) -> None:
    """An unknown version, run or workspace never runs anything, and is not lost."""
    diary = Diary()
    world.workflow(diary.step)
    wrong: dict[str, Any] = {"v": 2} if field == "v" else {field: "somebody-else"}
    given: dict[str, Any] = {
        "job_id": (await world.created()).job_id,
        "workspace_id": "acme",
        "trigger_type": TriggerType.MANUAL,
        "attempt": 1,
        "max_attempts": 5,
        "trace_id": "t",
        "idempotency_key": "k",
    }
    body = Envelope(**(given | wrong))
    await world.until_quiet()
    diary.ran.clear()
    await world.queue.send(body, send_no=1)
    for _ in range(MAX_RECEIVES + 1):
        await world.once()
    assert diary.ran == []
    assert len(await world.letters.list()) == 1
    await world.letters.run_once()
    assert len(await world.letters.list()) == 1


async def test_a_worker_that_does_not_know_the_workflow_leaves_it_to_others(world: World) -> None:
    """During a deployment an old worker may get a new run: it fails that attempt, another runs it."""
    diary = Diary()
    world.workflow(diary.step)
    run = await world.created()
    await world.until_quiet(world.worker("old", registry=Registry()))
    assert (await world.run(run.job_id)).last_error_code == "UNKNOWN_WORKFLOW"
    world.time.advance(40)
    await world.until_quiet()
    assert (await world.run(run.job_id)).status is Status.COMPLETED


async def test_a_run_of_other_steps_is_not_guessed_at(world: World) -> None:
    """If its steps changed since it was created, a run ends: the cursor would mean another step."""
    diary, changed = Diary(), Registry()
    world.workflow(diary.step)
    run = await world.created()
    world.registry, before = changed, world.registry
    world.workflow(diary.step, diary.step)
    await world.until_quiet(world.worker(registry=changed))
    world.registry = before
    assert (await world.run(run.job_id)).last_error_code == "WORKFLOW_CHANGED"
    assert diary.ran == []


async def test_what_a_step_raises_stays_out_of_the_record(world: World) -> None:
    """An unexpected error is recorded by its kind alone: its words may name people."""

    def raises(_context: StepContext) -> None:
        raise KeyError("Ada Lovelace, 10 December 1815")

    world.workflow(raises)
    run = await world.created()
    await world.until_quiet()
    failed = await world.run(run.job_id)
    assert (failed.last_error_code, failed.last_error_message) == (
        "STEP_RAISED", "step step-1 raised KeyError",
    )  # fmt: skip


async def test_a_step_in_a_thread_hears_of_a_cancel(world: World) -> None:
    """A plain function runs beside the event loop, and its token tells it to stop."""
    begun, told = threading.Event(), threading.Event()

    def blocks(context: StepContext) -> None:
        begun.set()
        if context.token.wait(30):
            told.set()
            context.token.raise_if_stopped()

    world.workflow(blocks)
    run = await world.created()
    message = await world.message()
    working = asyncio.create_task(world.worker().handle(message))
    await asyncio.to_thread(begun.wait, 30)
    await world.control.cancel(run)
    while not working.done():
        world.time.advance(20)
        await asyncio.sleep(0.01)
    assert await working is True
    assert told.is_set()


async def test_a_finished_step_is_recorded_though_the_store_was_away(world: World) -> None:
    """A checkpoint is insisted on while the lock lasts: work that was done is not done again."""
    diary = Diary()

    async def cuts(context: StepContext) -> str:
        world.store.away = lambda name: name == "commit"
        return await diary(context)

    world.workflow(cuts)
    run = await world.created()
    message = await world.message()
    working = asyncio.create_task(world.worker().handle(message))
    while not diary.ran:
        await asyncio.sleep(0.01)
    for _ in range(3):
        world.time.advance(0.5)
        await asyncio.sleep(0.01)
    assert not working.done()
    world.store.away = lambda _name: False
    while not working.done():
        world.time.advance(0.5)
        await asyncio.sleep(0.01)
    assert await working is True
    assert diary.ran == [("step-1", 1)]
    assert (await world.run(run.job_id)).status is Status.COMPLETED


async def test_a_step_that_takes_too_long_fails_its_attempt(world: World) -> None:
    """The limit of a Lambda is met by ending the step in time, not by being killed in it."""
    hears = asyncio.Event()

    async def forever(context: StepContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            hears.set()

    world.workflow(forever)
    run = await world.created()
    message = await world.message()
    assert await world.worker().handle(message, time_left=lambda: 5.05) is False
    assert hears.is_set()
    assert (await world.run(run.job_id)).last_error_code == "STEP_TIMEOUT"
