"""The part of the attempts suite about who works on what: one claimer, one taker, also in a crowd."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

from lucius.sdk.serving.ports import AttemptKey, Found, Overdue
from lucius.testing.attempts_harness import LATER, NOW, SOON, AttemptsHarness

CROWD = 4
ROUNDS = 4


class AttemptsSharing:
    """However many ask, an attempt has one owner."""

    # --- claiming

    async def test_the_first_claim_wins(self, harness: AttemptsHarness) -> None:
        """A new attempt is the claimer's."""
        assert await harness.claim(harness.key()) == Found(claimed=True)

    async def test_a_second_claim_learns_that_it_was_begun(self, harness: AttemptsHarness) -> None:
        """A directive that comes twice is worked on once, whoever gets it the second time."""
        key = await harness.begun()
        assert await harness.claim(key, owner="second") == Found(claimed=False)
        assert await harness.claim(key, owner="first") == Found(claimed=False)

    async def test_every_part_of_the_key_counts(self, harness: AttemptsHarness) -> None:
        """Another job, step, attempt or lease is another attempt."""
        key = await harness.begun(job_id="j", step_id="s", attempt_no=1, lease_id="l")
        others = [
            AttemptKey(job_id="j2", step_id="s", attempt_no=1, lease_id="l"),
            AttemptKey(job_id="j", step_id="s2", attempt_no=1, lease_id="l"),
            AttemptKey(job_id="j", step_id="s", attempt_no=2, lease_id="l"),
            AttemptKey(job_id="j", step_id="s", attempt_no=1, lease_id="l2"),
        ]
        for other in others:
            assert await harness.claim(other) == Found(claimed=True)
        assert await harness.claim(key) == Found(claimed=False)

    async def test_keys_may_hold_any_text(self, harness: AttemptsHarness) -> None:
        """Ids with slashes, quotes, blanks, dots and letters of all scripts, however long, are kept apart."""
        texts = [
            "a/b",
            "a\\b",
            "a#b?c",
            "a b",
            "..",
            "a'b\"",
            "ä€😀",
            "A/B",
            "a!b",
            "a~2fb",
            "x" * 200,
            "€" * 200,
        ]
        keys = [harness.key(job_id=text, step_id=text, lease_id=text) for text in texts]
        keys += [harness.key(job_id="a!b", step_id="c", lease_id="l")]
        keys += [harness.key(job_id="a", step_id="b!c", lease_id="l")]
        for key in keys:
            assert await harness.claim(key) == Found(claimed=True)
        assert {each.key for each in await harness.take()} == set(keys)

    async def test_an_overdue_attempt_is_not_claimed_again(self, harness: AttemptsHarness) -> None:
        """A redelivery of a crashed attempt does not start it over: it is for `take_overdue` to report."""
        key = harness.key()
        await harness.claim(key, until=NOW)
        assert await harness.claim(key, owner="second") == Found(claimed=False)

    async def test_of_a_crowd_one_claims(self, harness: AttemptsHarness) -> None:
        """Many clients claim one attempt at the same time: it is one's alone."""
        async with AsyncExitStack() as stack:
            crowd = [harness.attempts, *await harness.clients(CROWD - 1, stack)]
            for key in [harness.key() for _ in range(ROUNDS)]:
                found = await asyncio.gather(
                    *(harness.claim(key, owner=f"o{n % 7}", by=crowd[n % CROWD]) for n in range(CROWD * 3))
                )
                assert Counter(each.claimed for each in found)[True] == 1

    # --- being alive

    async def test_who_is_alive_keeps_its_attempts(self, harness: AttemptsHarness) -> None:
        """An extended attempt is not overdue when it would have been."""
        key = await harness.begun()
        assert await harness.attempts.extend([key], owner="first", until=LATER) == [True]
        assert await harness.take(now=SOON) == []
        assert [each.key for each in await harness.take(now=LATER)] == [key]

    async def test_extending_answers_for_each(self, harness: AttemptsHarness) -> None:
        """Each attempt has its own answer, in the order in which they were asked for."""
        mine, unknown, told = await harness.begun(), harness.key(), await harness.begun()
        theirs = harness.key()
        await harness.claim(theirs, owner="second")
        await harness.attempts.told(told, now=NOW)
        asked = [theirs, mine, mine, unknown, told, mine]
        answers = await harness.attempts.extend(asked, owner="first", until=LATER)
        assert answers == [False, True, True, False, False, True]
        assert await harness.attempts.extend([], owner="first", until=LATER) == []

    async def test_late_but_not_taken_over(self, harness: AttemptsHarness) -> None:
        """An owner that was late is still the owner if nobody took over."""
        key = harness.key()
        await harness.claim(key, until=NOW - 1)
        assert await harness.attempts.extend([key], owner="first", until=SOON) == [True]
        assert await harness.take(now=NOW) == []

    async def test_after_a_takeover_the_old_owner_is_told(self, harness: AttemptsHarness) -> None:
        """Who was taken over learns it when it says that it is alive, and changes nothing."""
        key = await harness.begun()
        await harness.take()
        assert await harness.attempts.extend([key], owner="first", until=LATER * 2) == [False]
        assert await harness.attempts.extend([key], owner="second", until=LATER) == [True]
        assert [each.key for each in await harness.take(owner="third", now=LATER)] == [key]

    # --- taking over

    async def test_what_is_taken_over_comes_whole(self, harness: AttemptsHarness) -> None:
        """The taker gets the key, the directive as it was, and the result if there is one."""
        silent, spoke = harness.key(), harness.key()
        await harness.claim(silent, directive=b"\x00\xff one")
        await harness.claim(spoke, directive=b"", until=SOON - 1)
        await harness.attempts.finish(spoke, owner="first", result=b"\xff\x00 done")
        assert await harness.take() == [
            Overdue(key=spoke, directive=b"", result=b"\xff\x00 done"),
            Overdue(key=silent, directive=b"\x00\xff one", result=None),
        ]

    async def test_only_what_is_overdue_is_taken(self, harness: AttemptsHarness) -> None:
        """Not before its time, and not when Lucius knows; the moment itself counts."""
        key, told = await harness.begun(), await harness.begun()
        await harness.attempts.told(told, now=NOW)
        assert await harness.take(now=SOON - 1) == []
        assert [each.key for each in await harness.take(now=SOON)] == [key]

    async def test_what_is_taken_is_not_taken_twice(self, harness: AttemptsHarness) -> None:
        """A takeover is a claim: it holds until its own end, then the next one may have it."""
        key = await harness.begun()
        assert [each.key for each in await harness.take(owner="second")] == [key]
        assert await harness.take(owner="third", now=LATER - 1) == []
        for owner in ("third", "fourth"):
            taken = await harness.attempts.take_overdue(owner=owner, now=LATER, until=LATER, limit=1)
            assert [each.key for each in taken] == [key]

    async def test_the_longest_overdue_come_first(self, harness: AttemptsHarness) -> None:
        """A limit leaves the rest for the next time, and nobody waits for ever."""
        keys = [harness.key() for _ in range(5)]
        for age, key in enumerate(keys):
            await harness.claim(key, until=SOON - age)
        assert [each.key for each in await harness.take(limit=2)] == keys[:2:-1]
        assert await harness.take(limit=0) == []
        assert [each.key for each in await harness.take(limit=9)] == keys[2::-1]

    async def test_of_many_takers_each_attempt_gets_one(self, harness: AttemptsHarness) -> None:
        """Several processes start after a crash at once: nothing is reported twice, nothing is left."""
        keys = [await harness.begun() for _ in range(8)]
        async with AsyncExitStack() as stack:
            crowd = [harness.attempts, *await harness.clients(CROWD - 1, stack)]
            taken = await asyncio.gather(
                *(harness.take(owner=f"o{n}", limit=8, by=each) for n, each in enumerate(crowd))
            )
        rest = await harness.take(owner="last")
        everything = Counter(each.key for some in [*taken, rest] for each in some)
        assert everything == Counter(keys)

    async def test_alive_or_taken_over_but_not_both(self, harness: AttemptsHarness) -> None:
        """When owner and taker come at the same moment, exactly one of them has it afterwards."""
        async with AsyncExitStack() as stack:
            [other] = await harness.clients(1, stack)
            for _ in range(ROUNDS):
                key = await harness.begun()
                [alive], taken = await asyncio.gather(
                    harness.attempts.extend([key], owner="first", until=LATER),
                    harness.take(by=other),
                )
                assert alive != ([each.key for each in taken] == [key])
                [holds] = await harness.attempts.extend([key], owner="first", until=LATER)
                assert holds == alive
                await harness.attempts.told(key, now=NOW)
