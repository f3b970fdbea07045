"""What every store of runs must find: lists, overdue runs, events that wait; and what it forgets."""

from __future__ import annotations

import asyncio

import pytest

from lucius.errors import Invalid
from lucius.lifebook.core.events import event_of
from lucius.lifebook.core.run import summary_of
from lucius.lifebook.ports.store import RunConflictError
from lucius.testing.lifebook.runs import NOW, POLICY, canceled, new_run, taken
from lucius.testing.lifebook.store_harness import StoreHarness


class RunStoreReading:
    """What was written is found, by whom it concerns."""

    # --- list

    async def test_the_newest_run_comes_first(self, harness: StoreHarness) -> None:
        """A workspace's runs are listed newest first, as they are now."""
        runs = [await harness.open(created_at=NOW + at) for at in (2, 1, 3)]
        runs[0] = await harness.cancel(runs[0])
        page = await harness.store.runs("acme", limit=10)
        assert list(page.runs) == [summary_of(runs[at]) for at in (2, 0, 1)]
        assert page.cursor is None

    async def test_pages_show_every_run_once(self, harness: StoreHarness) -> None:
        """Page by page nothing is left out or shown twice, also among runs of one moment."""
        made = [await harness.open(created_at=NOW + at // 4) for at in range(11)]
        found = await harness.listed("acme", limit=3)
        assert sorted(each.job_id for each in found) == sorted(run.job_id for run in made)
        times = [each.created_at for each in found]
        assert times == sorted(times, reverse=True)

    async def test_a_list_shows_its_workspace_only(self, harness: StoreHarness) -> None:
        """Runs of others are not listed, nor by their cursor."""
        for at in range(3):
            await harness.open(created_at=NOW + at)
        own = await harness.open(workspace_id="zeta", created_at=NOW - 5)
        assert [each.job_id for each in await harness.listed("zeta", limit=5)] == [own.job_id]
        assert (await harness.store.runs("nobody", limit=5)).runs == ()
        foreign = (await harness.store.runs("acme", limit=1)).cursor
        assert foreign is not None
        try:
            shown = (await harness.store.runs("zeta", limit=5, cursor=foreign)).runs
        except Invalid:
            shown = ()
        assert {each.workspace_id for each in shown} <= {"zeta"}

    async def test_a_cursor_that_is_none_is_refused(self, harness: StoreHarness) -> None:
        """What no list has given out is the asker's mistake."""
        for cursor in ("nonsense", "é", "AAAA", "eyJhIjoxfQ", "W10=", "x" * 5000):
            with pytest.raises(Invalid):
                await harness.store.runs("acme", limit=5, cursor=cursor)

    # --- due

    async def test_overdue_runs_are_found(self, harness: StoreHarness) -> None:
        """Open runs whose time has come, the most overdue first, no more than asked for."""
        late, later, _ = [await harness.open(due_at=NOW + at) for at in (20, 10, 30)]
        assert [run.job_id for run in await harness.store.due(NOW + 20, 10)] == [later.job_id, late.job_id]
        assert await harness.store.due(NOW + 20, 1) == [later]
        assert list(await harness.store.due(NOW + 9, 10)) == []

    async def test_due_moves_with_the_run(self, harness: StoreHarness) -> None:
        """A run that was written is due at its new time, one that has ended never."""
        run = await harness.open()
        first = run.due_at or 0
        run = await harness.take(run)
        second = run.due_at or 0
        assert second > first
        assert list(await harness.store.due(first, 10)) == []
        assert list(await harness.store.due(second, 10)) == [run]
        await harness.cancel(run)
        assert list(await harness.store.due(second + 10**9, 10)) == []

    # --- events

    async def test_events_wait_until_they_are_told(self, harness: StoreHarness) -> None:
        """Oldest first; a told one is gone, and may be told again without harm."""
        runs = [await harness.open() for _ in range(3)]
        ended = [
            await harness.cancel(run, NOW + at) for run, at in zip(runs, (2000, 1000, 3000), strict=True)
        ]
        events = [event_of(ended[at]) for at in (1, 0, 2)]
        assert await harness.events() == events
        assert list(await harness.store.untold(2)) == events[:2]
        await harness.store.told(events[0], NOW + 4000)
        await harness.store.told(events[0], NOW + 5000)
        assert await harness.events() == events[1:]

    async def test_an_event_is_told_by_one_at_a_time(self, harness: StoreHarness) -> None:
        """Whoever claims an event has it alone until its claim is over; what was told is nobody's."""
        ended = [await harness.cancel(await harness.open(), NOW + at) for at in (1000, 2000)]
        now, events = NOW + 5000, [event_of(run) for run in ended]
        both = await asyncio.gather(*(harness.store.claim_events(now, 1, lease=9000) for _ in range(8)))
        claimed = [event for events in both for event in events]
        assert len(claimed) == len({event.event_id for event in claimed}) <= 2
        claimed += await harness.store.claim_events(now, 10, lease=9000)
        assert sorted(event.event_id for event in claimed) == sorted(event.event_id for event in events)
        assert list(await harness.store.claim_events(now + 8999, 10, lease=9000)) == []
        await harness.store.told(events[0], now)
        assert list(await harness.store.claim_events(now + 9000, 10, lease=9000)) == [events[1]]

    # --- forget

    async def test_a_store_forgets_what_is_over(self, harness: StoreHarness) -> None:
        """Past its `ttl_at` a run goes with its key; a store that forgets by itself has nothing to do."""
        run = await harness.open(key="order-7")
        ended = await harness.cancel(run)
        await harness.store.told(event_of(ended), NOW)
        expiry = (ended.ttl_at or 0) * 1000
        gone = await harness.store.forget(expiry + 1000, 100)
        assert gone == (0 if harness.forgets_by_itself else 1)
        if not harness.forgets_by_itself:
            assert await harness.store.get(run.job_id) is None
            assert (await harness.store.runs("acme", limit=5)).runs == ()
            assert (await harness.create(new_run(key="order-7"))).fresh
            with pytest.raises(RunConflictError):
                await harness.store.commit(run, canceled(run))

    async def test_nothing_is_forgotten_early(self, harness: StoreHarness) -> None:
        """Open runs stay for ever, ended ones until their time."""
        held = await harness.take(await harness.open())
        ended = await harness.cancel(await harness.open(key="order-7"))
        assert await harness.store.forget((ended.ttl_at or 0) * 1000 - 1, 100) == 0
        assert await harness.stored(held.job_id) == held
        assert not (await harness.create(new_run(key="order-7"))).fresh

    async def test_forgetting_keeps_what_others_need(self, harness: StoreHarness) -> None:
        """An untold event and the wallet outlive their run, and a deposit counts once for ever."""
        await harness.store.deposit("acme", 1000, deposit_id="one")
        ended = await harness.complete(await harness.open())
        await harness.store.forget(NOW + POLICY.retention_seconds * 2000, 100)
        assert await harness.events() == [event_of(ended)]
        again = await harness.store.deposit("acme", 1000, deposit_id="one")
        assert (again.available, again.spent, again.deposited) == (400, 600, 1000)

    async def test_forgetting_has_a_bound(self, harness: StoreHarness) -> None:
        """No more than asked for go at once; a key that was given anew stays."""
        for _ in range(3):
            await harness.cancel(await harness.open())
        late = NOW + POLICY.retention_seconds * 2000
        counts = [await harness.store.forget(late, 2) for _ in range(3)]
        assert counts == ([0, 0, 0] if harness.forgets_by_itself else [2, 1, 0])

    async def test_two_see_one_store(self, harness: StoreHarness) -> None:
        """What one process wrote another reads at once."""
        other = await harness.another()
        run = await harness.open()
        held = taken(run)
        await other.commit(run, held)
        assert await harness.stored(run.job_id) == held.run
