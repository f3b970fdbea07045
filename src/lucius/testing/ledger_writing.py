"""What a ledger promises about taking jobs in and changing them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lucius.core import commands as cmd
from lucius.core.decide import Verdict, open_job
from lucius.core.evolve import replay
from lucius.core.job import Job
from lucius.core.promises import check_directives, check_history
from lucius.core.states import JobState
from lucius.ports.ledger import Change, JobQuery, OutboxRow, Usage
from lucius.testing.jobs import HOUR, Story, change, claim, done, lost, protocol
from lucius.testing.ledger_harness import LedgerHarness


class LedgerWriting:
    """Creating and changing."""

    async def test_a_created_job_is_there(self, harness: LedgerHarness) -> None:
        """What was answered can be read: job, events, directive."""
        opened = await harness.create(harness.order())
        assert not opened.duplicate
        job = await harness.stored(opened.job.job_id)
        assert job == opened.job
        assert replay(job.order, await harness.ledger.events(job.job_id)) == job
        assert [row.attempt_no for row in await harness.ledger.outbox([job.job_id])] == [1]

    async def test_the_same_key_is_the_same_job(self, harness: LedgerHarness) -> None:
        """A second submission of one key finds the first, and makes nothing."""
        first = await harness.create(harness.order(), claim(harness.order(), "k", explicit=True))
        again = await harness.create(harness.order(), claim(harness.order(), "k", explicit=True))
        assert (again.duplicate, again.job.job_id) == (True, first.job.job_id)
        assert len(await harness.ledger.jobs(JobQuery())) == 1

    async def test_sixty_four_at_once_are_one_job(self, harness: LedgerHarness) -> None:
        """Trap A1: a storm of one key makes one job, and all of them are told its id."""
        orders = [harness.order() for _ in range(64)]
        opened = await asyncio.gather(*(harness.create(each, claim(each, "same")) for each in orders))
        assert len({each.job.job_id for each in opened}) == 1
        assert sorted(each.duplicate for each in opened) == [False] + [True] * 63
        assert len(await harness.ledger.jobs(JobQuery())) == 1

    async def test_a_key_is_its_tenants_own(self, harness: LedgerHarness) -> None:
        """Two tenants with one key have two jobs."""
        mine, theirs = harness.order(tenant="acme"), harness.order(tenant="zeta")
        opened = [await harness.create(each, claim(each, "k", explicit=True)) for each in (mine, theirs)]
        assert [each.duplicate for each in opened] == [False, False]

    async def test_derived_and_explicit_keys_do_not_meet(self, harness: LedgerHarness) -> None:
        """Trap A5: the same words in the two key spaces are two keys."""
        one, two = harness.order(), harness.order()
        await harness.create(one, claim(one, "words"))
        assert not (await harness.create(two, claim(two, "words", explicit=True))).duplicate

    async def test_a_derived_key_expires(self, harness: LedgerHarness) -> None:
        """Within its window a key dedupes; after it the document can be run again."""
        one, two, three = (harness.order() for _ in range(3))
        until = harness.clock() + HOUR
        await harness.create(one, claim(one, "doc", expires_at=until))
        harness.clock.advance(HOUR - 1)
        assert (await harness.create(two, claim(two, "doc", expires_at=until))).duplicate
        harness.clock.advance(1)
        later = await harness.create(three, claim(three, "doc", expires_at=until + HOUR))
        assert (later.duplicate, later.job.job_id) == (False, three.job_id)

    async def test_a_derived_key_is_released_by_failure(self, harness: LedgerHarness) -> None:
        """Trap A9: a failed document can be run again at once."""
        one, two = harness.order(), harness.order()
        await harness.create(one, claim(one, "doc"))
        await harness.fail(one.job_id)
        assert not (await harness.create(two, claim(two, "doc"))).duplicate

    async def test_a_derived_key_is_released_by_cancelling(self, harness: LedgerHarness) -> None:
        """A cancelled document can be run again at once, even before the cancel is durable."""
        one, two, three = (harness.order() for _ in range(3))
        await harness.create(one, claim(one, "doc"))
        cancelled = harness.ask(one.job_id, cmd.Cancel())
        second = harness.create(two, claim(two, "doc"))
        await cancelled
        assert not (await second).duplicate
        again = await harness.create(three, claim(three, "doc"))
        assert (again.duplicate, again.job.job_id) == (True, two.job_id)

    async def test_a_derived_key_is_kept_by_success(self, harness: LedgerHarness) -> None:
        """What succeeded is not done twice within its window."""
        one, two = harness.order(), harness.order()
        await harness.create(one, claim(one, "doc"))
        await harness.finish(one.job_id)
        again = await harness.create(two, claim(two, "doc"))
        assert (again.duplicate, again.job.state) == (True, JobState.SUCCEEDED)

    async def test_an_explicit_key_is_kept_by_failure(self, harness: LedgerHarness) -> None:
        """Whoever names a key gets the same job for as long as it is kept."""
        one, two = harness.order(), harness.order()
        await harness.create(one, claim(one, "doc", explicit=True))
        await harness.fail(one.job_id)
        assert (await harness.create(two, claim(two, "doc", explicit=True))).duplicate

    async def test_a_change_of_no_job_is_none(self, harness: LedgerHarness) -> None:
        """An id nobody has is answered, not raised."""
        assert await harness.ask("nobody", cmd.Pause()) is None

    async def test_a_change_that_decides_nothing_leaves_nothing(self, harness: LedgerHarness) -> None:
        """A duplicate is answered and not written."""
        job = await harness.open()
        assert await harness.tell(job.job_id, cmd.Resume()) is Verdict.DUPLICATE
        assert await harness.stored(job.job_id) == job

    async def test_changes_build_on_each_other(self, harness: LedgerHarness) -> None:
        """Changes asked for at once are decided one after the other, each on the newest state."""
        job = await harness.open()
        answers = await asyncio.gather(*(harness.ask(job.job_id, cmd.Pause()) for _ in range(5)))
        verdicts = [answer.decision.verdict for answer in answers if answer is not None]
        assert verdicts == [Verdict.ACCEPTED] + [Verdict.DUPLICATE] * 4

    async def test_a_job_can_be_changed_before_it_is_durable(self, harness: LedgerHarness) -> None:
        """What follows a creation in the same breath sees it, and both are kept."""
        asked = harness.order()
        created = harness.create(asked)
        paused = harness.ask(asked.job_id, cmd.Pause())
        await created
        assert await paused is not None
        assert (await harness.stored(asked.job_id)).state is JobState.PAUSED

    async def test_events_are_gapless_and_in_order(self, harness: LedgerHarness) -> None:
        """Trap C11: events are numbered per job, from one, without a hole, however they were batched."""
        jobs = [await harness.open() for _ in range(3)]
        for job in jobs:
            harness.clock.advance(-1000)
            await harness.finish(job.job_id)
        for job in jobs:
            events = await harness.ledger.events(job.job_id)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            stored = await harness.stored(job.job_id)
            assert check_history(job.order, events, stored) == []
        events = await harness.ledger.events(jobs[0].job_id, after=2, limit=3)
        assert [event.seq for event in events] == [3, 4, 5]

    async def test_every_attempt_keeps_its_bytes(self, harness: LedgerHarness) -> None:
        """Trap B5: the directive of an attempt is read back byte for byte, for as long as it is open."""
        sent: list[bytes] = []
        harness.ledger.on_commit(lambda changes: sent.extend(row.body for c in changes for row in c.outbox))
        job = await harness.open(payload={"common": {"text": 'ünï "quoted" \\ \n \u0001'}})
        rows: list[OutboxRow] = []
        for _ in range(2):
            rows = await harness.ledger.outbox([job.job_id])
            assert [row.body for row in rows] == sent[:1]
            step = (await harness.stored(job.job_id)).steps[0]
            assert step.attempt is not None
            await harness.tell(job.job_id, cmd.Published(step_id=step.step_id, attempt_no=1))
        assert check_directives(job.order, await harness.ledger.events(job.job_id), rows) == []

    async def test_only_current_directives_of_open_attempts_are_given(self, harness: LedgerHarness) -> None:
        """Trap B4: there is nothing to publish for a paused, a finished or a waiting step."""
        job = await harness.open()
        await harness.tell(job.job_id, cmd.Pause())
        assert await harness.ledger.outbox([job.job_id]) == []
        await harness.tell(job.job_id, cmd.Resume())
        await harness.report(job.job_id, lost())
        assert await harness.ledger.outbox([job.job_id]) == []
        harness.clock.advance(HOUR)
        await harness.tell(job.job_id, cmd.Tick())
        assert [row.attempt_no for row in await harness.ledger.outbox([job.job_id])] == [2]
        await harness.report(job.job_id)
        assert [row.step_index for row in await harness.ledger.outbox([job.job_id])] == [1]
        await harness.finish(job.job_id)
        assert await harness.ledger.outbox([job.job_id]) == []

    async def test_listeners_hear_before_callers(self, harness: LedgerHarness) -> None:
        """What a caller was told, the relay has heard of; and what it hears can be read."""
        heard: list[str] = []

        def listen(changes: Sequence[Change]) -> None:
            heard.extend(each.decision.job.job_id for each in changes)

        harness.ledger.on_commit(listen)
        asked = harness.order()
        opened = await harness.create(asked)
        assert heard == [opened.job.job_id]
        await harness.tell(asked.job_id, cmd.Resume())
        assert heard == [opened.job.job_id]

    async def test_an_opener_that_raises_leaves_nothing(self, harness: LedgerHarness) -> None:
        """A refused submission takes no slot and no key, and hurts nobody beside it."""
        good, bad, again = harness.order(), harness.order(), harness.order()

        def refuse(_: Usage) -> Change:
            raise ValueError("no")

        kept = harness.create(good)
        for _ in range(3):
            try:
                await harness.ledger.create(claim(bad, "doc"), refuse)
            except ValueError:
                continue
            raise AssertionError("the opener's error must reach the caller")
        assert not (await kept).duplicate
        assert (await harness.usage()).tenant_jobs == 1
        assert await harness.ledger.job(bad.job_id) is None
        assert not (await harness.create(again, claim(bad, "doc"))).duplicate

    async def test_a_judge_that_raises_leaves_nothing(self, harness: LedgerHarness) -> None:
        """An error in a decision reaches its caller; the job, its neighbours and the counts stay."""
        job, other = await harness.open(), await harness.open()

        def fail(_: Job, __: Usage) -> Change:
            raise ValueError("no")

        before = harness.ask(other.job_id, cmd.Pause())
        try:
            await harness.ledger.change(job.job_id, fail)
        except ValueError:
            assert await before is not None
        else:
            raise AssertionError("the judge's error must reach the caller")
        assert await harness.stored(job.job_id) == job
        assert (await harness.stored(other.job_id)).state is JobState.PAUSED
        assert (await harness.usage()).tenant_jobs == 1
        await harness.finish(job.job_id)

    async def test_what_cannot_be_written_is_refused_alone(self, harness: LedgerHarness) -> None:
        """A change that has no stored form fails for its caller; what shares its commit is kept."""
        job = await harness.open()
        bad = harness.order(payload={"common": {"text": "\ud800"}})
        beside = harness.ask(job.job_id, cmd.Pause())
        try:
            await harness.ledger.create(
                claim(bad), lambda _: Change(decision=open_job(bad, harness.chance()))
            )
        except (UnicodeError, ValueError, TypeError):
            assert await beside is not None
        else:
            raise AssertionError("text without a stored form must be refused")
        assert await harness.ledger.job(bad.job_id) is None
        assert (await harness.stored(job.job_id)).state is JobState.PAUSED
        assert (await harness.usage()).tenant_jobs == 0

    async def test_a_listener_that_raises_does_not_hold_the_answer(self, harness: LedgerHarness) -> None:
        """What is durable is answered, even if somebody who listens breaks."""
        loop = asyncio.get_running_loop()
        complaints: list[object] = []
        loop.set_exception_handler(lambda _, context: complaints.append(context.get("exception")))

        def listen(_: Sequence[Change]) -> None:
            raise ValueError("listener")

        harness.ledger.on_commit(listen)
        job = await harness.open()
        assert (await harness.stored(job.job_id)).state is JobState.QUEUED
        assert [type(each) for each in complaints] == [ValueError]

    async def test_parts_of_every_kind_come_back(self, harness: LedgerHarness) -> None:
        """Groups, inherited results, extensions, unicode, numbers at the edge: read as written."""
        asked = harness.order(
            steps=protocol("a", "b"), start_index=1, inherited=(done("s3://é/\u2028"),), priority=-7,
            callback_urls=("https://a.example/hook",), ancestor_id="someone", correlation_id="c\u0000d",
            extensions={"x-deep": [1, 2.5, None, {"k": True}]}, payload={"b": {"n": 2**53 - 1, "f": 1e-7}},
        )  # fmt: skip
        job = await harness.open(asked)
        assert await harness.stored(job.job_id) == job
        assert (await harness.stored(job.job_id)).order == asked
        await harness.tell(
            job.job_id,
            cmd.Heartbeat(step_id="b", attempt_no=1, lease_id=_lease(job), progress=0.1, message="\u0000ü"),
        )
        stored = await harness.stored(job.job_id)
        assert (stored.steps[1].progress, stored.steps[1].progress_message) == (0.1, "\u0000ü")

    async def test_a_story_told_twice_is_the_same(self, harness: LedgerHarness) -> None:
        """What the core decides in memory and what the ledger keeps are the same job."""
        story = Story(harness.order())
        await harness.ledger.create(claim(story.order), lambda _: change(story.last))
        for command in (cmd.Pause(), cmd.Resume(), cmd.Ack(**story.reply()), cmd.Cancel(reason="enough")):
            story.then(command)
            await harness.ledger.change(story.job.job_id, lambda *_: change(story.last))
        assert await harness.stored(story.job.job_id) == story.job
        assert await harness.ledger.events(story.job.job_id) == story.events


def _lease(job: Job) -> str:
    attempt = job.steps[1].attempt
    assert attempt is not None
    return attempt.lease_id
