"""Lost messages, dead letters, and creation: what puts right what crashed in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from lucius.errors import Invalid, NotFound, Refused
from lucius.lifebook.core.commands import Acquire
from lucius.lifebook.core.events import COMPLETED
from lucius.lifebook.core.run import envelope_of
from lucius.lifebook.core.states import Status
from lucius.lifebook.core.wallet import InsufficientCreditsError
from lucius.lifebook.ports.queue import MAX_RECEIVES
from lucius.lifebook.workflows import StepContext
from tests.lifebook.world import OPENING, World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A lifebook in virtual time."""
    async with opened() as made:

        async def step(_context: StepContext) -> None:
            return None

        made.workflow(step, step)
        yield made


async def test_a_message_that_was_never_sent_is_sent_by_the_sweeper(world: World) -> None:
    """Trap F1: the queue was away between create and send; the run is accepted and later runs."""
    world.queue.away = lambda name: name == "send"
    run = await world.created()
    assert run.status is Status.PENDING
    world.queue.away = lambda _name: False
    assert (await world.sweeper.run_once()).acted == 0
    world.time.advance(31)
    assert (await world.sweeper.run_once()).acted == 1
    assert (await world.run(run.job_id)).status is Status.QUEUED
    await world.until_quiet()
    assert (await world.run(run.job_id)).status is Status.COMPLETED


async def test_a_sweep_while_the_queue_is_away_is_repeated(world: World) -> None:
    """A message that cannot be sent again either is still overdue later."""
    world.queue.away = lambda name: name == "send"
    run = await world.created()
    for _ in range(3):
        world.time.advance(31)
        await world.sweeper.run_once()
    world.queue.away = lambda _name: False
    world.time.advance(31)
    await world.sweeper.run_once()
    await world.until_quiet()
    assert (await world.run(run.job_id)).status is Status.COMPLETED


@pytest.mark.parametrize("where", ["queued", "running", "failed"])
async def test_a_lost_message_is_replaced_in_every_open_status(world: World, where: str) -> None:
    """Whatever was lost, an open run is found and woken, and completes."""
    run = await world.created()
    message = await world.message()
    if where == "running":
        await world.changes.apply(run.job_id, Acquire(owner="gone", token="t"))
    if where == "failed":
        world.queue.away = lambda name: name in {"hide", "delete"}
        known = world.registry._workflows.pop("flow")
        await world.worker().handle(message)
        world.registry.register(known)
        world.queue.away = lambda _name: False
    await world.queue.delete(message)
    assert (await world.run(run.job_id)).status.value == where
    world.time.advance(3601)
    assert (await world.sweeper.run_once()).acted == 1
    await world.until_quiet()
    assert (await world.run(run.job_id)).status is Status.COMPLETED
    await world.balanced()


async def test_extra_messages_of_a_sweeper_do_no_harm(world: World) -> None:
    """A message that was only slow and the one that replaced it together run every step once."""
    run = await world.created()
    world.time.advance(3601)
    await world.sweeper.run_once()
    await world.until_quiet()
    ended = await world.run(run.job_id)
    assert (ended.status, ended.attempts) == (Status.COMPLETED, 1)
    assert await world.letters.list() == []


async def test_receives_that_run_out_before_attempts_end_the_run(world: World) -> None:
    """Trap F2: what lands among the dead letters is marked dead there; no run is open for ever."""
    run = await world.created()
    for _ in range(MAX_RECEIVES):
        message = await world.message()
        await world.queue.hide(message, 0)
    assert await world.receive() is None
    assert (await world.letters.run_once()).details == {"buried": 1, "cleared": 0}
    dead = await world.run(run.job_id)
    assert (dead.status, dead.last_error_code) == (Status.DEAD, "RECEIVES_EXHAUSTED")
    assert len(await world.letters.list()) == 1
    assert await world.events() == [(COMPLETED, run.job_id)]
    assert (await world.letters.run_once()).acted == 0
    await world.balanced()


async def test_a_leftover_among_the_dead_letters_kills_no_healthy_run(world: World) -> None:
    """An older message that landed there is cleared away; the run goes on with its newest."""
    run = await world.created()
    for _ in range(MAX_RECEIVES):
        await world.queue.hide(await world.message(), 0)
    assert await world.receive() is None
    world.time.advance(3601)
    await world.sweeper.run_once()
    assert (await world.letters.run_once()).details == {"buried": 0, "cleared": 1}
    await world.until_quiet()
    assert (await world.run(run.job_id)).status is Status.COMPLETED


async def test_redrive_is_a_new_run_once(world: World) -> None:
    """A dead run stays dead; redriven it becomes one new run, and its dead letter is gone."""
    run = await world.created()
    for _ in range(MAX_RECEIVES):
        await world.queue.hide(await world.message(), 0)
    await world.receive()
    await world.letters.run_once()
    first = await world.letters.redrive(run.job_id, user_id="ops")
    second = await world.letters.redrive(run.job_id, user_id="ops")
    assert (first.fresh, second.fresh, second.run.job_id) == (True, False, first.run.job_id)
    assert first.run.retry_of == run.job_id
    assert await world.letters.list() == []
    await world.until_quiet()
    assert (await world.run(first.run.job_id)).status is Status.COMPLETED
    assert (await world.run(run.job_id)).status is Status.DEAD
    await world.balanced()


async def test_an_open_run_is_not_retried(world: World) -> None:
    """Retry is for what has ended."""
    run = await world.created()
    with pytest.raises(Refused):
        await world.control.retry(run, user_id="ada")


async def test_one_key_is_one_run(world: World) -> None:
    """64 creations of one key at once: one run, one message, one reservation."""
    made = await asyncio.gather(*(world.created(key="k") for _ in range(64)))
    assert len({run.job_id for run in made}) == 1
    assert (await world.queue.depth()).visible == 1
    assert (await world.look.wallet("acme")).reserved == 200
    await world.balanced()


async def test_a_key_means_one_request(world: World) -> None:
    """Trap A4: the same key with another input is refused and makes nothing."""
    await world.created(key="k", input={"page": 1})
    with pytest.raises(Invalid) as refused:
        await world.created(key="k", input={"page": 2})
    assert refused.value.code == "IDEMPOTENCY_KEY_REUSED"
    assert len((await world.look.runs("acme")).runs) == 1


async def test_credits_are_held_before_anything_runs(world: World) -> None:
    """A wallet that does not cover the estimate refuses the run, and keeps what it has."""
    await world.store.deposit("poor", 150, deposit_id="d")
    for _ in range(OPENING // 200):
        await world.created()
    with pytest.raises(InsufficientCreditsError):
        await world.created()
    await world.balanced()


async def test_an_unknown_workflow_is_refused(world: World) -> None:
    """With the names of those that exist."""
    with pytest.raises(NotFound, match="registered are: flow"):
        await world.created("nothing")


async def test_a_cancel_wins_or_loses_but_not_both(world: World) -> None:
    """Trap D3: cancel against the end of the run leaves one outcome, one event, and balanced credits."""
    run = await world.created()
    message = await world.message()
    outcomes = await asyncio.gather(
        world.worker().handle(message), world.control.cancel(run), return_exceptions=True
    )
    ended = await world.run(run.job_id)
    assert ended.terminal
    assert isinstance(outcomes[1], Refused) == (ended.status is Status.COMPLETED)
    assert len(await world.events()) == 1
    await world.balanced()


async def test_the_message_is_the_contracts(world: World) -> None:
    """The body has the contract's eight fields and nothing else."""
    run = await world.created(key="k")
    message = await world.message()
    assert (
        message.body
        == (
            f'{{"v":1,"job_id":"{run.job_id}","workspace_id":"acme","trigger_type":"manual","attempt":1,'
            f'"max_attempts":5,"trace_id":"{run.trace_id}","idempotency_key":"k"}}'
        ).encode()
    )
    assert envelope_of(run).attempt == 1


async def test_a_letter_is_found_among_very_many(world: World) -> None:
    """A run is redriven, and its letter goes, however many others lie before it."""
    run = await world.created()
    for _ in range(1_100):
        await world.dead.send(envelope_of(run), send_no=1)
    other = await world.created()
    await world.dead.send(envelope_of(other), send_no=1)
    assert await world.letters.discard(other.job_id) == 1
    assert (await world.dead.depth()).visible == 1_100
