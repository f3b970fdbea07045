"""Steps that misbehave: each costs its own run an attempt or its life, and nobody else anything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import apsw
import pytest

from lucius.lifebook.adapters.sqlite import LifebookFile
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.states import Status
from lucius.lifebook.ports.queue import MAX_RECEIVES
from lucius.lifebook.worker import stepping
from lucius.lifebook.workflows import Registry, Step, StepContext, StepError, StepResult, Workflow
from tests.lifebook.world import VirtualTime, World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A lifebook in virtual time."""
    async with opened() as made:
        yield made


class OwnEnd(BaseException):
    """What nobody expects."""


async def leaves(_context: StepContext) -> None:
    """End the process."""
    sys.exit(3)


async def interrupts(_context: StepContext) -> None:
    """As Ctrl-C would."""
    raise KeyboardInterrupt


async def throws(_context: StepContext) -> None:
    """Raise what `except Exception` does not see."""
    raise OwnEnd


def runs_dry(_context: StepContext) -> None:
    """The mistake of every `next(...)` without a default."""
    next(iter([]))


@pytest.mark.parametrize("step", [leaves, interrupts, throws, runs_dry])
async def test_whatever_a_step_raises_is_the_end_of_an_attempt(
    world: World, step: Callable[[StepContext], Any]
) -> None:
    """Neither the event loop nor the worker ends with it, and nobody waits for its time limit."""
    world.workflow(step)
    run = await world.created()
    async with asyncio.timeout(5):
        await world.once()
    failed = await world.run(run.job_id)
    assert (failed.status, failed.last_error_code) == (Status.FAILED, "STEP_RAISED")


@pytest.mark.parametrize(
    "made",
    [
        StepResult(credits=1.5),  # type: ignore[arg-type]
        StepResult(credits=float("nan")),  # type: ignore[arg-type]
        StepResult(credits="5"),  # type: ignore[arg-type]
        StepResult(credits=True),
        StepResult(artifact=5),  # type: ignore[arg-type]
        StepResult(artifact="file:///\udc80"),
    ],
    ids=str,
)
async def test_a_result_that_no_record_can_keep_ends_the_run(world: World, made: StepResult) -> None:
    """It is refused before it is written: the record stays readable and the wallet balanced."""

    async def step(_context: StepContext) -> StepResult:
        return made

    world.workflow(step)
    run = await world.created()
    await world.once()
    ended = await world.run(run.job_id)
    assert (ended.status, ended.last_error_code) == (Status.DEAD, "STEP_RESULT_INVALID")
    await world.balanced()


async def test_a_failure_told_in_no_unicode_is_a_failure(world: World) -> None:
    """Names of files may be no text; what a step says with them is kept as far as it can be."""

    async def step(_context: StepContext) -> None:
        raise StepError("cannot read \udc80.txt", code="UNREADABLE")

    world.workflow(step)
    run = await world.created()
    await world.once()
    failed = await world.run(run.job_id)
    assert (failed.status, failed.last_error_code) == (Status.FAILED, "UNREADABLE")
    assert failed.last_error_message == "cannot read ?.txt"


async def test_a_coroutine_that_cannot_be_cancelled_is_left_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attempt ends all the same, with its time, and its worker goes on."""
    monkeypatch.setattr(stepping, "GRACE_SECONDS", 0.05)
    release, over = asyncio.Event(), asyncio.Event()

    async def deaf(_context: StepContext) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        over.set()

    world.registry.register(Workflow("deaf", (Step("only", deaf, timeout_seconds=0.05),)))
    run = await world.created("deaf")
    async with asyncio.timeout(5):
        await world.once()
    failed = await world.run(run.job_id)
    assert (failed.status, failed.last_error_code) == (Status.FAILED, "STEP_TIMEOUT")
    release.set()
    await over.wait()


def test_a_workflow_with_broken_credits_is_refused() -> None:
    """Credits are whole hundredths; half of one would make a record that nobody can read."""
    with pytest.raises(ValueError, match="whole hundredths"):
        Registry([Workflow("flow", (Step("only", leaves, credits=0.5),))])  # type: ignore[arg-type]


async def test_a_record_that_cannot_be_read_holds_up_nobody() -> None:
    """The sweeper sends the other runs again, and the other dead letters are judged and shown."""
    time = VirtualTime()
    file = LifebookFile(":memory:", clock=time.clock)
    world = World(file, time, Policy())

    world.workflow(leaves)
    broken, other = await world.created(), await world.created()

    def damage(connection: apsw.Connection) -> None:
        connection.execute("UPDATE runs SET body = x'7b7d' WHERE job_id = ?", (broken.job_id,))

    await file.write(damage)
    for _ in range(2 * MAX_RECEIVES):
        await world.queue.hide(await world.message(), 0)
    shown = {letter.envelope and letter.envelope.job_id: letter.run for letter in await world.letters.list()}
    assert shown == {broken.job_id: None, other.job_id: other}
    time.advance(4000)
    assert (await world.sweeper.run_once()).acted == 1
    assert (await world.run(other.job_id)).sends == 2
    await file.close()
