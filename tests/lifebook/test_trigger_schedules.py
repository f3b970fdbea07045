"""Schedules: made, paused, resumed; each slot becomes one run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.errors import Invalid, NotFound, Unavailable
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.ports.store import RunConflictError
from lucius.lifebook.ports.triggers import Schedule
from lucius.lifebook.triggers import cron
from lucius.lifebook.triggers.desk import MOST
from lucius.lifebook.triggers.schedules import Schedules, request_of
from lucius.lifebook.usecases.create import Create
from tests.lifebook.trigger_world import MINUTE, NOON, OPENING, TriggerWorld, trigger_world


@pytest.fixture
async def world() -> AsyncIterator[TriggerWorld]:
    """Runs and triggers in memory."""
    async with trigger_world() as found:
        yield found


def duty_of(world: TriggerWorld, limit: int = 100) -> Schedules:
    """The duty, on creations that tests can stop."""
    return Schedules(world.store, cast("Create", world.turnable), clock=world.clock, limit=limit)


def keys(schedule: Schedule, *slots: str) -> set[str]:
    """The keys of the runs of these slots on the day of the tests."""
    return {f"schedule:{schedule.schedule_id}:2026-01-27T{slot}:00Z" for slot in slots}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "61 * * * *",
        "a b c d e",
        "@daily",
        "* * * * MON#9",
        "1" * 4500,
        "* " * 200,
    ],
)
async def test_a_bad_expression_is_refused_with_a_pointer(world: TriggerWorld, text: str) -> None:
    """What is no cron expression of five fields makes no schedule, and the refusal says where it is."""
    with pytest.raises(Invalid) as refused:
        await world.schedule(text)
    assert [(one.pointer, one.code) for one in refused.value.problems] == [("/cron", "INVALID_CRON")]
    assert await world.triggers.schedules("acme") == []


@pytest.mark.parametrize("text", ["30 2 30 2 *", "0 0 31 2,4,6 *", "0 0 LW * */7"])
async def test_an_expression_that_never_comes_is_refused(world: TriggerWorld, text: str) -> None:
    """Nobody waits for the thirtieth of February, or for a working day that is a Sunday."""
    with pytest.raises(Invalid, match="come") as refused:
        await world.schedule(text)
    assert refused.value.problems[0].pointer == "/cron"


async def test_what_every_run_would_refuse_is_refused_at_once(world: TriggerWorld) -> None:
    """An unknown workflow and an input too large point at their fields."""
    for change, pointer in (
        ({"workflow_id": "none"}, "/workflow_id"),
        ({"given": {"x": "y" * 40_000}}, "/input"),
    ):
        with pytest.raises(Invalid) as refused:
            await world.schedule(**change)
        assert refused.value.problems[0].pointer == pointer


@given(
    moment=st.integers(0, 4_000_000_000_000), text=st.sampled_from(["* * * * *", "*/7 3 * * *", "0 0 29 2 *"])
)
def test_times_of_an_expression_fit_together(moment: int, text: str) -> None:
    """The next time is later than now, the latest is not, and nothing lies between the two."""
    last, coming = cron.latest(text, moment), cron.after(text, moment)
    assert last <= moment < coming
    assert cron.after(text, last) == coming


async def test_a_slot_becomes_one_run_and_the_schedule_moves_on(world: TriggerWorld) -> None:
    """At its time, not before, a run is made in the schedule's name; the next slot follows."""
    made = await world.schedule("*/5 * * * *", given={"page": 1})
    duty = duty_of(world)
    assert (await duty.run_once()).acted == 0
    world.now += 5 * MINUTE
    assert (await duty.run_once()).details == {
        "fired": 1, "again": 0, "refused": 0, "skipped": 0, "overtaken": 0,
    }  # fmt: skip
    assert (await duty.run_once()).acted == 0
    (run,) = await world.made()
    assert (run.trigger_type, run.user_id, run.input) == (TriggerType.SCHEDULE, "ada", {"page": 1})
    assert {run.idempotency_key} == keys(made, "12:05")
    assert (await world.triggers.schedule(made.schedule_id)).next_at == NOON + 10 * MINUTE


async def test_a_crash_between_run_and_schedule_makes_no_second_run(world: TriggerWorld) -> None:
    """The slot is fired again into the same key, and the schedule moves on."""
    made = await world.schedule()
    world.now += MINUTE
    await world.create.create(request_of(made, made.next_at))
    report = await duty_of(world).run_once()
    assert (report.acted, report.details["again"]) == (0, 1)
    assert await world.keys() == keys(made, "12:01")
    assert (await world.triggers.schedule(made.schedule_id)).next_at == NOON + 2 * MINUTE


async def test_a_duty_that_was_overtaken_fires_nothing(
    world: TriggerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever read the schedule before somebody else moved it makes no second run and moves nothing."""
    made = await world.schedule()
    world.now += MINUTE
    first, second = duty_of(world), duty_of(world)
    stale = await world.store.due_schedules(world.now, 10)
    await first.run_once()

    async def as_before(now: int, limit: int) -> object:
        return stale

    monkeypatch.setattr(world.store, "due_schedules", as_before)
    report = await second.run_once()
    assert (report.details["again"], report.details["overtaken"]) == (1, 1)
    assert await world.keys() == keys(made, "12:01")
    assert (await world.triggers.schedule(made.schedule_id)).version == 2


async def test_duties_at_the_same_moment_fire_a_slot_once(world: TriggerWorld) -> None:
    """Of many processes that find the same schedules due, one makes each run."""
    made = [await world.schedule() for _ in range(5)]
    world.now += MINUTE
    reports = await asyncio.gather(*(duty_of(world).run_once() for _ in range(6)))
    assert sum(report.acted for report in reports) == 5
    assert await world.keys() == set[str]().union(*(keys(one, "12:01") for one in made))
    assert {one.version for one in await world.triggers.schedules("acme")} == {2}


async def test_of_missed_slots_the_latest_is_fired(world: TriggerWorld) -> None:
    """After a long silence one run makes up for all slots that went by."""
    made = await world.schedule()
    world.now += 90 * MINUTE + 1
    report = await duty_of(world).run_once()
    assert (report.acted, report.details["skipped"]) == (1, 1)
    assert await world.keys() == keys(made, "13:30")
    assert (await world.triggers.schedule(made.schedule_id)).next_at == NOON + 91 * MINUTE


async def test_a_clock_that_goes_back_fires_nothing_twice(world: TriggerWorld) -> None:
    """Slots that had their run have it still when their time comes again."""
    made = await world.schedule()
    duty = duty_of(world)
    for step in (1, 1, -2, 1, 1, -2, 1, 1, 1):
        world.now += step * MINUTE
        await duty.run_once()
    assert await world.keys() == keys(made, "12:01", "12:02", "12:03")


async def test_a_refused_run_is_counted_and_the_schedule_moves_on(world: TriggerWorld) -> None:
    """Without credits, or without its workflow, a slot is let go; the schedules behind it are fired."""
    await world.schedule(workflow_id="costly")
    gone = await world.schedule()
    await world.store.put_schedule(
        msgspec.structs.replace(gone, workflow_id="gone", version=2), before=gone.version
    )
    good = await world.schedule()
    world.now += MINUTE
    report = await duty_of(world).run_once()
    assert (report.details["refused"], report.details["fired"]) == (2, 1)
    assert await world.keys() == keys(good, "12:01")
    assert await world.store.due_schedules(world.now, 10) == []
    wallet = await world.runs.wallet("acme")
    assert wallet is not None
    assert wallet.available == OPENING - 1


async def test_while_the_store_is_away_nothing_is_let_go(world: TriggerWorld) -> None:
    """The round is put off, and the next one fires the slot."""
    made = await world.schedule()
    world.now += MINUTE
    world.turnable.away = True
    with pytest.raises(Unavailable):
        await duty_of(world).run_once()
    world.turnable.away = False
    assert (await duty_of(world).run_once()).acted == 1
    assert await world.keys() == keys(made, "12:01")


async def test_a_schedule_without_a_next_time_is_paused(world: TriggerWorld) -> None:
    """An expression that cannot be read any more stops its schedule, not the round."""
    made = await world.schedule()
    await world.store.put_schedule(msgspec.structs.replace(made, cron="nonsense", version=2), before=1)
    world.now += MINUTE
    await duty_of(world).run_once()
    assert not (await world.triggers.schedule(made.schedule_id)).enabled


async def test_more_than_a_round_takes_is_said(world: TriggerWorld) -> None:
    """A full round asks to come again at once, and the last one does not."""
    for _ in range(3):
        await world.schedule()
    world.now += MINUTE
    duty = duty_of(world, limit=2)
    assert [(await duty.run_once()).more for _ in range(2)] == [True, False]
    assert len(await world.keys()) == 3


async def test_a_paused_schedule_is_silent_and_resumes_from_now(world: TriggerWorld) -> None:
    """What it missed while paused is not fired; pausing and resuming twice changes nothing."""
    made = await world.schedule()
    assert await world.triggers.pause(made.schedule_id) == await world.triggers.pause(made.schedule_id)
    world.now += 10 * MINUTE
    assert (await duty_of(world).run_once()).acted == 0
    resumed = await world.triggers.resume(made.schedule_id)
    assert resumed == await world.triggers.resume(made.schedule_id)
    assert resumed.next_at == NOON + 11 * MINUTE
    world.now += MINUTE
    assert (await duty_of(world).run_once()).acted == 1
    assert await world.keys() == keys(made, "12:11")


async def test_a_removed_schedule_fires_nothing_and_does_not_come_back(world: TriggerWorld) -> None:
    """A duty that read it before cannot write it again."""
    made = await world.schedule()
    await world.triggers.remove_schedule(made.schedule_id)
    world.now += MINUTE
    assert (await duty_of(world).run_once()).acted == 0
    with pytest.raises(RunConflictError):
        await world.store.put_schedule(msgspec.structs.replace(made, version=2), before=1)
    for verb in (world.triggers.schedule, world.triggers.pause, world.triggers.resume):
        with pytest.raises(NotFound):
            await verb(made.schedule_id)


async def test_a_workspace_has_only_so_many(world: TriggerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes schedules in a loop is stopped."""
    assert MOST >= 100
    monkeypatch.setattr("lucius.lifebook.triggers.desk.MOST", 2)
    made = [await world.schedule() for _ in range(2)]
    with pytest.raises(Exception, match="already") as refused:
        await world.schedule()
    assert getattr(refused.value, "code", None) == "TOO_MANY_TRIGGERS"
    await world.schedule(workspace_id="globex")
    assert {one.schedule_id for one in await world.triggers.schedules("acme")} == {
        one.schedule_id for one in made
    }
