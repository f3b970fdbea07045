"""The part of the attempts suite about results: stored once, told, forgotten, and there after a restart."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from lucius.errors import Unavailable
from lucius.sdk.serving.ports import Found
from lucius.testing.attempts_harness import LATER, NOW, SOON, AttemptsHarness

LARGE = 300_000


class AttemptsEnding:
    """One result an attempt, for as long as it is remembered."""

    # --- results

    async def test_a_stored_result_is_found_again(self, harness: AttemptsHarness) -> None:
        """A directive that comes after the end gets the result that was stored, byte by byte."""
        key = await harness.begun()
        assert await harness.attempts.finish(key, owner="first", result=b"\x00done\xff") == b"\x00done\xff"
        assert await harness.claim(key) == Found(claimed=False, result=b"\x00done\xff")
        await harness.attempts.told(key, now=NOW)
        assert await harness.claim(key) == Found(claimed=False, result=b"\x00done\xff")

    async def test_the_first_result_stands(self, harness: AttemptsHarness) -> None:
        """A second result is not stored; who brings it learns which one to send."""
        key = await harness.begun()
        await harness.attempts.finish(key, owner="first", result=b"one")
        assert await harness.attempts.finish(key, owner="first", result=b"two") == b"one"
        assert await harness.claim(key) == Found(claimed=False, result=b"one")

    async def test_owner_and_taker_send_the_same(self, harness: AttemptsHarness) -> None:
        """A slow owner and its taker both finish: the first one's result is what both send."""
        slow, quick = await harness.begun(), await harness.begun()
        await harness.take()
        assert await harness.attempts.finish(slow, owner="second", result=b"crashed") == b"crashed"
        assert await harness.attempts.finish(slow, owner="first", result=b"done") == b"crashed"
        assert await harness.attempts.finish(quick, owner="first", result=b"done") == b"done"
        assert await harness.attempts.finish(quick, owner="second", result=b"crashed") == b"done"

    async def test_of_a_crowd_one_result_stands(self, harness: AttemptsHarness) -> None:
        """Many results at the same time: all who brought one are given the same."""
        key = await harness.begun()
        async with AsyncExitStack() as stack:
            crowd = [harness.attempts, *await harness.clients(3, stack)]
            stands = await asyncio.gather(
                *(each.finish(key, owner=f"o{n}", result=b"%d" % n) for n, each in enumerate(crowd))
            )
        assert len(set(stands)) == 1
        assert await harness.claim(key) == Found(claimed=False, result=stands[0])

    async def test_finishing_and_being_alive_do_not_undo_each_other(self, harness: AttemptsHarness) -> None:
        """A heartbeat at the moment of the result costs neither."""
        key = await harness.begun()
        stands, [alive] = await asyncio.gather(
            harness.attempts.finish(key, owner="first", result=b"done"),
            harness.attempts.extend([key], owner="first", until=LATER),
        )
        assert (stands, alive) == (b"done", True)
        assert await harness.take(now=SOON) == []
        assert [each.result for each in await harness.take(now=LATER)] == [b"done"]

    async def test_an_unknown_attempt_has_no_other_result(self, harness: AttemptsHarness) -> None:
        """Finishing what is not remembered stores nothing and stands against nothing."""
        key = harness.key()
        assert await harness.attempts.finish(key, owner="first", result=b"done") == b"done"
        await harness.attempts.told(key, now=NOW)
        assert await harness.claim(key) == Found(claimed=True)

    async def test_large_messages_are_kept(self, harness: AttemptsHarness) -> None:
        """A directive and a result of some hundred kilobytes, hard to compress or empty, come back whole."""
        noise = b"".join(b"%x" % (n * n * 7919) for n in range(LARGE // 10))
        key, empty = harness.key(), harness.key()
        await harness.claim(key, directive=noise)
        await harness.claim(empty, directive=b"")
        assert await harness.attempts.finish(key, owner="first", result=noise[::-1]) == noise[::-1]
        assert await harness.attempts.finish(empty, owner="first", result=b"") == b""
        taken = {each.key: (each.directive, each.result) for each in await harness.take()}
        assert taken == {key: (noise, noise[::-1]), empty: (b"", b"")}

    # --- telling and forgetting

    async def test_told_twice_is_told(self, harness: AttemptsHarness) -> None:
        """The first time counts: saying it again does not make it younger."""
        key = await harness.begun()
        await harness.attempts.told(key, now=NOW)
        await harness.attempts.told(key, now=LATER)
        assert await harness.attempts.forget(before=NOW + 1) == 1
        assert await harness.claim(key) == Found(claimed=True)

    async def test_told_without_a_result(self, harness: AttemptsHarness) -> None:
        """Work that was thrown away leaves an attempt that is over: neither overdue nor begun again."""
        key = await harness.begun()
        await harness.attempts.told(key, now=NOW)
        assert await harness.take(now=LATER) == []
        assert await harness.claim(key) == Found(claimed=False)
        assert await harness.attempts.finish(key, owner="first", result=b"late") == b"late"
        assert await harness.attempts.finish(key, owner="first", result=b"later") == b"late"

    async def test_forgetting_leaves_what_is_young_or_untold(self, harness: AttemptsHarness) -> None:
        """Only what was told before the time goes; what is begun or finished but not told stays."""
        old, young, begun, finished = [await harness.begun() for _ in range(4)]
        await harness.attempts.finish(finished, owner="first", result=b"done")
        await harness.attempts.told(old, now=NOW - 1)
        await harness.attempts.told(young, now=NOW)
        assert await harness.attempts.forget(before=NOW) == 1
        assert await harness.attempts.forget(before=NOW) == 0
        assert [(await harness.claim(key)).claimed for key in (young, begun, finished)] == [False] * 3
        assert (await harness.claim(old)).claimed

    async def test_what_nobody_keeps_alive_has_an_end(self, harness: AttemptsHarness) -> None:
        """Claims left alone for the whole time go too; those that somebody extended or took stay."""
        left, alive, taken = [await harness.begun() for _ in range(3)]
        await harness.attempts.extend([left, alive], owner="first", until=SOON + 1)
        await harness.take(limit=1)
        assert await harness.attempts.forget(before=SOON + 1) == 0
        await harness.attempts.extend([alive], owner="first", until=SOON + 2)
        assert await harness.attempts.forget(before=SOON + 2) == 1
        assert await harness.attempts.extend([alive], owner="first", until=LATER) == [True]
        assert await harness.attempts.extend([taken], owner="second", until=LATER) == [True]
        assert await harness.attempts.extend([left], owner="first", until=LATER) == [False]

    # --- starting again

    async def test_another_process_finds_everything(self, harness: AttemptsHarness) -> None:
        """Claims, results, takeovers and what was told are there for who opens the store next."""
        begun, finished, told = [await harness.begun() for _ in range(3)]
        await harness.attempts.finish(finished, owner="first", result=b"done")
        await harness.attempts.told(told, now=NOW)
        await harness.attempts.close()
        harness.attempts = await harness.another()
        assert await harness.claim(begun) == Found(claimed=False)
        assert await harness.claim(finished) == Found(claimed=False, result=b"done")
        assert {each.key for each in await harness.take()} == {begun, finished}
        assert await harness.attempts.forget(before=NOW + 1) == 1

    async def test_a_closed_store_says_so(self, harness: AttemptsHarness) -> None:
        """After closing, a call raises; closing again does nothing."""
        await harness.attempts.close()
        await harness.attempts.close()
        with pytest.raises(Unavailable):
            await harness.claim(harness.key())
