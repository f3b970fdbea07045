"""What every store of runs must do with writes: keys, versions, races."""

from __future__ import annotations

import asyncio

import pytest

from lucius.lifebook.core.commands import Sent
from lucius.lifebook.core.events import event_of
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.core.wallet import InsufficientCreditsError
from lucius.lifebook.ports.store import RunConflictError, RunStore
from lucius.testing.lifebook.runs import canceled, decided, job_id, new_run, step_done, taken
from lucius.testing.lifebook.store_harness import OPENING, StoreHarness


class RunStoreWriting:
    """All of a write or nothing, by one writer."""

    # --- create

    async def test_a_created_run_is_there(self, harness: StoreHarness) -> None:
        """What was created is read back, every field of it."""
        run = new_run(input={"text": "Größe ☃", "deep": [1, {"two": None}], "share": 0.25}, retry_of=job_id())
        created = await harness.create(run)
        assert (created.run, created.fresh) == (run, True)
        assert await harness.stored(run.job_id) == run

    async def test_an_unknown_run_is_none(self, harness: StoreHarness) -> None:
        """Only runs are runs: neither a missing id nor the name of a wallet or a key is one."""
        run = await harness.open(key="order-7")
        for name in (job_id(), run.unique_id, f"wallet#{run.workspace_id}"):
            assert await harness.store.get(name) is None

    async def test_a_key_is_taken_once(self, harness: StoreHarness) -> None:
        """The second creation with a key answers with the first one's run, whatever it asked for."""
        first = await harness.open(key="order-7")
        second = new_run(key="order-7", input={"page": 2})
        created = await harness.create(second)
        assert (created.run, created.fresh) == (first, False)
        assert await harness.store.get(second.job_id) is None
        assert (await harness.wallet()).reserved == first.credits_reserved

    async def test_a_taken_key_answers_with_the_run_of_now(self, harness: StoreHarness) -> None:
        """A repeated creation shows how far the run has come."""
        run = await harness.take(await harness.open(key="order-7"))
        assert (await harness.create(new_run(key="order-7"))).run == run

    async def test_a_taken_key_needs_no_credits(self, harness: StoreHarness) -> None:
        """Repeating a creation is answered even when the wallet is empty by now."""
        first = await harness.open(key="order-7", opening=600)
        assert (await harness.wallet()).available == 0
        created = await harness.create(new_run(key="order-7"))
        assert (created.run.job_id, created.fresh) == (first.job_id, False)

    async def test_keys_belong_to_their_workspace(self, harness: StoreHarness) -> None:
        """Two workspaces use the same key for runs of their own."""
        first = await harness.open(key="order-7")
        other = await harness.open(key="order-7", workspace_id="zeta")
        assert first.job_id != other.job_id

    async def test_a_refused_creation_takes_no_key(self, harness: StoreHarness) -> None:
        """Without credits nothing is kept: the same key passes once they are there."""
        run = new_run(key="order-7")
        with pytest.raises(InsufficientCreditsError):
            await harness.create(run, opening=599)
        assert await harness.store.get(run.job_id) is None
        await harness.store.deposit("acme", 600, deposit_id="top-up")
        assert (await harness.create(run, opening=599)).fresh

    async def test_many_creations_of_one_key_make_one_run(self, harness: StoreHarness) -> None:
        """64 creations of one key at once: one is fresh, all answer with its run."""
        stores = await _stores(harness)
        runs = [new_run(key="order-7") for _ in range(64)]
        made = await asyncio.gather(
            *(stores[at % len(stores)].create(run, opening=OPENING) for at, run in enumerate(runs))
        )
        assert [created.fresh for created in made].count(True) == 1
        assert len({created.run.job_id for created in made}) == 1
        assert len(await harness.listed("acme", limit=50)) == 1
        assert (await harness.wallet()).reserved == 600

    # --- commit

    async def test_a_decision_is_written(self, harness: StoreHarness) -> None:
        """After a commit the run is what was decided, and nothing waits to be told of an open run."""
        run = await harness.open()
        run = await harness.write(run, decided(run, Sent()))
        run = await harness.take(run)
        run = await harness.write(run, step_done(run, artifact="s3://bucket/öne"))
        assert await harness.stored(run.job_id) == run
        assert await harness.events() == []

    async def test_an_overtaken_decision_is_refused(self, harness: StoreHarness) -> None:
        """A decision on a version that is gone changes nothing."""
        run = await harness.open()
        held = await harness.take(run)
        with pytest.raises(RunConflictError):
            await harness.store.commit(run, canceled(run))
        assert await harness.stored(run.job_id) == held
        assert await harness.events() == []
        assert (await harness.wallet()).reserved == 600

    async def test_a_run_that_is_not_there_cannot_change(self, harness: StoreHarness) -> None:
        """A decision on a run that was never stored, or has gone, makes no ghost."""
        run = new_run()
        for decision in (taken(run), canceled(run)):
            with pytest.raises(RunConflictError):
                await harness.store.commit(run, decision)
        assert await harness.store.get(run.job_id) is None
        assert await harness.events() == []

    async def test_one_of_many_writers_wins(self, harness: StoreHarness) -> None:
        """32 workers take one version at once: one has it, the others hear so."""
        stores = await _stores(harness)
        run = await harness.open()

        async def attempt(number: int) -> Run | None:
            decision = taken(run, f"token-{number}")
            try:
                await stores[number % len(stores)].commit(run, decision)
            except RunConflictError:
                return None
            return decision.run

        won = [found for found in await asyncio.gather(*map(attempt, range(32))) if found is not None]
        assert won == [await harness.stored(run.job_id)]

    async def test_one_of_many_ends_counts(self, harness: StoreHarness) -> None:
        """32 writers end one run at once: one event, one settlement."""
        stores = await _stores(harness)
        run = await harness.open()
        outcomes = await asyncio.gather(
            *(stores[at % len(stores)].commit(run, canceled(run)) for at in range(32)), return_exceptions=True
        )
        assert [outcome is None for outcome in outcomes].count(True) == 1
        assert all(outcome is None or isinstance(outcome, RunConflictError) for outcome in outcomes)
        assert [event.job_id for event in await harness.events()] == [run.job_id]
        wallet = await harness.wallet()
        assert (wallet.available, wallet.reserved, wallet.spent) == (OPENING, 0, 0)

    async def test_the_end_leaves_one_event(self, harness: StoreHarness) -> None:
        """The write that ends a run leaves the event that the decision carries."""
        run = await harness.complete(await harness.open())
        assert run.status is Status.COMPLETED
        assert await harness.stored(run.job_id) == run
        assert await harness.events() == [event_of(run)]


async def _stores(harness: StoreHarness) -> list[RunStore]:
    """The store as four processes have it."""
    return [harness.store, *[await harness.another() for _ in range(3)]]
