"""What every store of runs must do with credits: reserve, settle, deposit; none is lost, none is made."""

from __future__ import annotations

import asyncio

import pytest

from lucius.errors import Refused
from lucius.lifebook.core.wallet import InsufficientCreditsError, Wallet
from lucius.testing.lifebook.runs import new_run, step_done
from lucius.testing.lifebook.store_harness import StoreHarness


class RunStoreMoney:
    """At all times: deposited = available + reserved + spent, and reserved = what open runs reserve."""

    async def test_a_workspace_without_a_wallet_has_none(self, harness: StoreHarness) -> None:
        """Nobody is given credits by looking."""
        assert await harness.store.wallet("acme") is None

    async def test_the_first_run_opens_the_wallet(self, harness: StoreHarness) -> None:
        """A workspace starts with the opening credits, once; what the run may cost is held."""
        await harness.open(opening=5000)
        await harness.open(opening=5000)
        assert await harness.wallet() == Wallet(
            workspace_id="acme", available=3800, reserved=1200, deposited=5000
        )

    async def test_a_run_that_costs_nothing_holds_nothing(self, harness: StoreHarness) -> None:
        """Free runs are created also where there are no credits."""
        run = await harness.open(opening=0, costs=(0, 0))
        await harness.complete(run)
        assert await harness.wallet() == Wallet(workspace_id="acme")

    async def test_a_run_beyond_the_wallet_is_refused(self, harness: StoreHarness) -> None:
        """No run is created that the free credits do not cover, and the refusal leaves the wallet alone."""
        await harness.open(opening=1000)
        before = await harness.wallet()
        with pytest.raises(InsufficientCreditsError):
            await harness.create(new_run())
        assert await harness.wallet() == before

    async def test_racing_creations_never_hold_more_than_there_is(self, harness: StoreHarness) -> None:
        """Sixteen runs race for credits of three, in a workspace that had no wallet."""
        stores = [harness.store, await harness.another()]
        made = await asyncio.gather(
            *(stores[at % 2].create(new_run(), opening=2000) for at in range(16)), return_exceptions=True
        )
        refused = [answer for answer in made if isinstance(answer, BaseException)]
        assert len(refused) == 13
        assert all(isinstance(answer, InsufficientCreditsError) for answer in refused)
        assert await harness.wallet() == Wallet(
            workspace_id="acme", available=200, reserved=1800, deposited=2000
        )

    async def test_a_step_is_paid_when_the_run_ends(self, harness: StoreHarness) -> None:
        """While a run is open its whole estimate is held, whatever it has spent of that."""
        run = await harness.take(await harness.open(opening=1000))
        await harness.write(run, step_done(run))
        wallet = await harness.wallet()
        assert (wallet.available, wallet.reserved, wallet.spent) == (400, 600, 0)

    async def test_the_end_settles(self, harness: StoreHarness) -> None:
        """A run that completes leaves what it spent as spent and frees the rest."""
        await harness.complete(await harness.open(opening=1000), cost=50)
        assert await harness.wallet() == Wallet(workspace_id="acme", available=850, spent=150, deposited=1000)

    async def test_a_canceled_run_pays_for_what_it_did(self, harness: StoreHarness) -> None:
        """Cancelling frees what was not spent."""
        run = await harness.take(await harness.open(opening=1000))
        run = await harness.write(run, step_done(run))
        await harness.cancel(run)
        assert await harness.wallet() == Wallet(workspace_id="acme", available=900, spent=100, deposited=1000)

    async def test_credits_balance_while_runs_come_and_end(self, harness: StoreHarness) -> None:
        """Creations, ends and deposits all at once: not a hundredth is lost or made."""

        async def life(number: int) -> int:
            run = await harness.open(opening=10_000)
            if number % 3 == 0:
                return (await harness.cancel(run)).credits_spent
            if number % 3 == 1:
                return (await harness.complete(run, cost=number)).credits_spent
            await harness.store.deposit("acme", 7, deposit_id=f"top-up-{number}")
            return 0

        spent = sum(await asyncio.gather(*map(life, range(12))))
        assert await harness.wallet() == Wallet(
            workspace_id="acme",
            available=10_000 + 4 * 7 - 4 * 600 - spent,
            reserved=4 * 600,
            spent=spent,
            deposited=10_000 + 4 * 7,
        )

    # --- deposit

    async def test_a_deposit_adds(self, harness: StoreHarness) -> None:
        """Credits are added, with or without a wallet before; a wallet that is there is not opened again."""
        first = await harness.store.deposit("acme", 700, deposit_id="one")
        assert first == Wallet(workspace_id="acme", available=700, deposited=700)
        await harness.open(opening=5000)
        second = await harness.store.deposit("acme", 50, deposit_id="two")
        assert second == await harness.wallet()
        assert (second.available, second.reserved, second.deposited) == (150, 600, 750)

    async def test_a_deposit_counts_once(self, harness: StoreHarness) -> None:
        """The same deposit told sixteen times at once adds once, and each teller sees the wallet with it."""
        stores = [harness.store, await harness.another()]
        seen = await asyncio.gather(
            *(stores[at % 2].deposit("acme", 700, deposit_id="one") for at in range(16))
        )
        assert {wallet.deposited for wallet in seen} == {700}
        assert (await harness.wallet()).available == 700

    async def test_a_deposit_of_another_amount_is_refused(self, harness: StoreHarness) -> None:
        """An id that brought 700 cannot bring 900: somebody is mistaken."""
        await harness.store.deposit("acme", 700, deposit_id="one")
        with pytest.raises(Refused):
            await harness.store.deposit("acme", 900, deposit_id="one")
        assert (await harness.wallet()).deposited == 700

    async def test_deposits_belong_to_their_workspace(self, harness: StoreHarness) -> None:
        """Two workspaces may give their deposits the same id."""
        await harness.store.deposit("acme", 700, deposit_id="one")
        await harness.store.deposit("zeta", 900, deposit_id="one")
        assert (await harness.wallet("acme")).deposited == 700
        assert (await harness.wallet("zeta")).deposited == 900
