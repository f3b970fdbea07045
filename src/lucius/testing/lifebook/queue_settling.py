"""What every queue must do with a lent message: delete, hide, give back, move to the dead letters."""

from __future__ import annotations

from lucius.testing.lifebook.queue_harness import QueueHarness


class RunQueueSettling:
    """Whoever has a message decides; who had it decides nothing."""

    async def test_a_deleted_message_is_gone(self, harness: QueueHarness) -> None:
        """It does not come back when its loan would have ended."""
        await harness.send()
        [delivery] = await harness.take(hidden=1)
        await harness.work.delete(delivery)
        await harness.advance(1.2)
        assert await harness.nothing()
        await harness.deep(0, 0)

    async def test_settling_what_is_gone_is_no_error(self, harness: QueueHarness) -> None:
        """A second answer changes nothing."""
        await harness.send()
        [delivery] = await harness.take()
        await harness.work.delete(delivery)
        await harness.work.delete(delivery)
        await harness.work.hide(delivery, 0)
        assert await harness.nothing()

    async def test_a_message_can_be_given_back(self, harness: QueueHarness) -> None:
        """Hidden for 0 seconds it is lent again at once, and counted."""
        await harness.send()
        [first] = await harness.take()
        await harness.work.hide(first, 0)
        [second] = await harness.take(by=await harness.another())
        assert (second.message_id, second.receives) == (first.message_id, 2)

    async def test_a_loan_can_be_extended(self, harness: QueueHarness) -> None:
        """Hidden for longer it stays hidden beyond the first loan, from now on; too long is cut."""
        await harness.send(2)
        first, second = await harness.take(2, hidden=1)
        await harness.work.hide(first, 30)
        await harness.work.hide(second, 10**7)
        await harness.advance(1.2)
        assert await harness.nothing()
        await harness.work.delete(first)
        await harness.deep(0, 1)

    async def test_a_loan_can_be_shortened(self, harness: QueueHarness) -> None:
        """A message comes back when it was told to, not when its first loan ends."""
        await harness.send()
        [delivery] = await harness.take()
        await harness.work.hide(delivery, 1)
        assert await harness.nothing()
        await harness.advance(1.2)
        await harness.take()

    async def test_a_late_answer_is_harmless(self, harness: QueueHarness) -> None:
        """Who lost a message may answer without error; where receipts are fenced it changes nothing."""
        await harness.send()
        [late] = await harness.take(hidden=1)
        await harness.advance(1.2)
        [held] = await harness.take()
        await harness.work.hide(late, 0)
        if harness.fences_receipts:
            assert await harness.nothing()
            await harness.work.delete(late)
            await harness.work.hide(held, 0)
            [held] = await harness.take()
            assert held.receives == 3
        await harness.work.delete(late)
        await harness.work.delete(held)
        assert await harness.nothing()

    # --- dead letters

    async def test_a_message_that_is_never_dealt_with_moves(self, harness: QueueHarness) -> None:
        """Lent as often as it may be, it is found among the dead letters, as it was sent."""
        await harness.work.send(harness.envelope(), send_no=4)
        [first] = await harness.take()
        assert await harness.nothing(harness.dead)
        await harness.work.hide(first, 0)
        for receives in range(2, harness.max_receives + 1):
            [delivery] = await harness.take()
            assert delivery.receives == receives
            await harness.work.hide(delivery, 0)
        assert await harness.nothing()
        [moved] = await harness.take(by=harness.dead)
        assert (moved.body, moved.send_no) == (first.body, 4)
        await harness.deep(0, 0)

    async def test_a_dead_letter_stays(self, harness: QueueHarness) -> None:
        """Dead letters can be looked at any number of times; they go when they are deleted."""
        await harness.send()
        await harness.exhaust()
        assert await harness.nothing()
        for _ in range(harness.max_receives + 2):
            [letter] = await harness.take(by=harness.dead)
            await harness.dead.hide(letter, 0)
        [letter] = await harness.take(by=harness.dead)
        await harness.dead.delete(letter)
        await harness.deep(0, 0, harness.dead)

    async def test_the_last_loan_still_counts(self, harness: QueueHarness) -> None:
        """Dealt with at the last chance, a message never becomes a dead letter."""
        await harness.send()
        for _ in range(harness.max_receives - 1):
            [delivery] = await harness.take()
            await harness.work.hide(delivery, 0)
        [delivery] = await harness.take()
        await harness.work.delete(delivery)
        assert await harness.nothing()
        assert await harness.nothing(harness.dead)
