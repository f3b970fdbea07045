"""What every transport promises, whatever it goes over. Bound to each in its own file."""

from __future__ import annotations

import asyncio

import pytest

from lucius.sdk.serving import replies
from lucius.sdk.serving.outcomes import Final
from tests.transports.worlds import NOW, PATIENCE, World, directive_of, done


class TransportPromises:
    """Give it a fixture `world`."""

    async def test_a_directive_is_lent_to_one_receiver(self, world: World) -> None:
        """What one receiver holds, no other gets."""
        job = await world.offer()
        (lent,) = await world.transport.receive(["OCR"], limit=10, wait=PATIENCE)
        assert directive_of(lent).job_id == job
        assert lent.delivery_count == 1
        assert await world.transport.receive(["OCR"], limit=10, wait=0) == []

    async def test_a_receiver_that_waits_is_woken(self, world: World) -> None:
        """A directive that comes later reaches a receiver that asked before."""
        waiting = asyncio.create_task(world.transport.receive(["OCR"], limit=10, wait=PATIENCE))
        await asyncio.sleep(0)
        job = await world.offer()
        (lent,) = await waiting
        assert directive_of(lent).job_id == job

    async def test_several_step_types_are_received_at_once(self, world: World) -> None:
        """A receiver of two types gets what waits of both, up to its limit."""
        jobs = [await world.offer(kind) for kind in ("OCR", "OCR", "SIS")]
        found = await world.transport.receive(["OCR", "SIS"], limit=2, wait=PATIENCE)
        while len(found) < 2:
            found += await world.transport.receive(["OCR", "SIS"], limit=2 - len(found), wait=PATIENCE)
        assert sorted(directive_of(lent).step_type for lent in found) == ["OCR", "SIS"]
        (last,) = await world.transport.receive(["OCR", "SIS"], limit=10, wait=PATIENCE)
        assert {directive_of(lent).job_id for lent in (*found, last)} == set(jobs)

    async def test_other_step_types_are_left_alone(self, world: World) -> None:
        """A receiver gets only what it asked for, also while it waits for several types."""
        await world.offer("SIS")
        assert await world.transport.receive(["OCR", "EMBEDDING"], limit=10, wait=0.05) == []
        assert len(await world.transport.receive(["SIS"], limit=10, wait=PATIENCE)) == 1

    async def test_an_abandoned_directive_comes_again(self, world: World) -> None:
        """What is given back is lent again, and the count says so."""
        job = await world.offer()
        (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
        await world.transport.abandon([lent.lock_token])
        (again,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
        assert (directive_of(again).job_id, again.delivery_count) == (job, 2)

    async def test_a_completed_directive_is_gone(self, world: World) -> None:
        """After `complete` the lock is over; completing again, or nothing, harms nobody."""
        await world.offer()
        (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
        await world.transport.complete([lent.lock_token])
        await world.transport.complete([lent.lock_token])
        await world.transport.complete([])
        assert await world.transport.renew([lent.lock_token]) == [False]
        assert await world.transport.receive(["OCR"], limit=1, wait=0) == []

    async def test_a_refused_directive_is_put_aside(self, world: World) -> None:
        """After `refuse`, with however long a reason, nobody gets it."""
        await world.offer()
        (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
        await world.transport.refuse(lent.lock_token, "unreadable " * 1000)
        assert await world.transport.renew([lent.lock_token]) == [False]
        assert await world.transport.receive(["OCR"], limit=1, wait=0) == []

    async def test_locks_are_renewed_one_by_one(self, world: World) -> None:
        """Each lock gets its own answer, in order."""
        await world.offer()
        (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
        assert await world.transport.renew(["made-up", lent.lock_token]) == [False, True]
        assert await world.transport.renew([]) == []

    async def test_replies_arrive(self, world: World) -> None:
        """ACK, HEARTBEAT and RESULT move the step; a heartbeat brings its progress."""
        job = await world.offer()
        (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
        directive = directive_of(lent)
        assert not (await world.transport.reply(directive, replies.ack(directive, NOW))).lost
        assert await world.state(job) == "IN_PROGRESS"
        for number, fraction in enumerate((0.25, 0.75)):
            beat = replies.heartbeat(directive, NOW + number, fraction, "page 3")
            assert not (await world.transport.reply(directive, beat)).lost
            assert await world.progress(job) == fraction
        assert not (await world.transport.reply(directive, done(directive))).lost
        assert await world.state(job) == "SUCCEEDED"

    async def test_a_repeated_result_counts_once(self, world: World) -> None:
        """The same RESULT again, and another one after it, change nothing."""
        job = await world.offer()
        (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
        directive = directive_of(lent)
        await world.transport.reply(directive, done(directive))
        again = await world.transport.reply(directive, done(directive))
        other = await world.transport.reply(directive, replies.failed(directive, NOW, Final("TOO_LATE")))
        assert again.verdict in {"duplicate", None}
        assert other.verdict in {"conflict", "after_terminal", None}
        assert await world.state(job) == "SUCCEEDED"

    @pytest.mark.parametrize("step_types", [["OCR"], ["OCR", "SIS"]], ids=["one", "several"])
    async def test_a_cancelled_receive_takes_nothing(self, world: World, step_types: list[str]) -> None:
        """After a receiver was cancelled while it waited, the next directive goes to the next receiver."""
        waiting = asyncio.create_task(world.transport.receive(step_types, limit=10, wait=PATIENCE))
        arrived, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not arrived
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        job = await world.offer()
        (lent,) = await world.transport.receive(step_types, limit=10, wait=PATIENCE)
        assert (directive_of(lent).job_id, lent.delivery_count) == (job, 1)
