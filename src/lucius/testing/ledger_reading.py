"""What a ledger promises about finding jobs: lists, due work, counts, dead letters, retention, restarts."""

from __future__ import annotations

import asyncio

from lucius.core import commands as cmd
from lucius.core.evolve import replay
from lucius.core.job import Job
from lucius.core.promises import check_slots
from lucius.core.timing import due_at
from lucius.ports.ledger import JobQuery
from lucius.testing.jobs import HOUR, MINUTE, claim, protocol, recipe
from lucius.testing.ledger_harness import LedgerHarness


class LedgerReading:
    """Lists, counts, due work."""

    async def test_lists_are_newest_first_and_paged(self, harness: LedgerHarness) -> None:
        """A cursor walks through all jobs once, newest first."""
        made = [(await harness.open()).job_id for _ in range(5)]
        seen: list[str] = []
        cursor = None
        while page := await harness.ledger.jobs(JobQuery(limit=2, before_id=cursor)):
            seen += [job.job_id for job in page]
            cursor = seen[-1]
        assert seen == made[::-1]

    async def test_lists_show_only_the_tenants_asked_for(self, harness: LedgerHarness) -> None:
        """S15: a query for some tenants never shows another's job; for none, nothing."""
        jobs = {name: await harness.open(tenant=name) for name in ("acme", "beta", "zeta")}
        for wanted in ({"acme"}, {"acme", "zeta"}, set()):
            listed = await harness.ledger.jobs(JobQuery(tenants=frozenset(wanted)))
            assert {job.job_id for job in listed} == {jobs[name].job_id for name in wanted}

    async def test_lists_filter_by_what_jobs_are(self, harness: LedgerHarness) -> None:
        """State, request type, document and correlation each narrow the list; together they meet."""
        one = await harness.open(doc_id="d1", correlation_id="c1")
        two = await harness.open(steps=protocol("ocr"), doc_id="d2", correlation_id="c1")
        await harness.tell(two.job_id, cmd.Pause())
        found = {
            "PAUSED": JobQuery(states=("PAUSED",)),
            "type": JobQuery(request_type="OCR"),
            "doc": JobQuery(doc_id="d2"),
            "both": JobQuery(correlation_id="c1", states=("PAUSED", "FAILED_FINAL")),
        }
        for name, query in found.items():
            assert [job.job_id for job in await harness.ledger.jobs(query)] == [two.job_id], name
        assert len(await harness.ledger.jobs(JobQuery(correlation_id="c1"))) == 2
        assert await harness.ledger.jobs(JobQuery(doc_id="d1", request_type="OCR")) == []
        assert one.state in {job.state for job in await harness.ledger.jobs(JobQuery(states=("QUEUED",)))}

    async def test_lists_filter_by_time(self, harness: LedgerHarness) -> None:
        """From is included, before is not."""
        made = []
        for _ in range(3):
            made.append((harness.clock(), (await harness.open()).job_id))
            harness.clock.advance(MINUTE)
        query = JobQuery(created_from=made[1][0], created_before=made[2][0])
        assert [job.job_id for job in await harness.ledger.jobs(query)] == [made[1][1]]

    async def test_due_work_comes_longest_waiting_first(self, harness: LedgerHarness) -> None:
        """Due jobs are found by their wake-up time, only when it has come, oldest first."""
        now = harness.clock()
        late = await harness.open(not_before=now + 3 * HOUR)
        soon = await harness.open(not_before=now + HOUR)
        await harness.open(not_before=now + 9 * HOUR)
        assert await harness.ledger.due(now, 10) == []
        assert await harness.ledger.due(now + HOUR - 1, 10) == []
        assert await harness.ledger.due(now + HOUR, 10) == [soon.job_id]
        assert await harness.ledger.due(now + 4 * HOUR, 10) == [soon.job_id, late.job_id]
        assert await harness.ledger.due(now + 4 * HOUR, 1) == [soon.job_id]

    async def test_due_follows_every_change(self, harness: LedgerHarness) -> None:
        """After each change the stored wake-up time is the one the job says."""
        job = await harness.open()
        for command in (cmd.Pause(), cmd.Resume(), cmd.Published(step_id="ocr", attempt_no=1), cmd.Cancel()):
            await harness.tell(job.job_id, command)
            due = due_at(await harness.stored(job.job_id))
            far = await harness.ledger.due(harness.clock() + 99 * HOUR, 10)
            assert (job.job_id in far) == (due is not None)
            if due is not None:
                assert await harness.ledger.due(due - 1, 10) == []

    async def test_open_attempts_are_found_by_pages(self, harness: LedgerHarness) -> None:
        """Every job with an open attempt is found once, in the order of ids; none that is over."""
        made = sorted([(await harness.open()).job_id for _ in range(5)])
        await harness.finish(made[2])
        seen: list[str] = []
        while page := await harness.ledger.open_attempts(after=seen[-1] if seen else "", limit=2):
            seen += page
        assert seen == [each for each in made if each != made[2]]

    async def test_dead_letters_are_what_failed(self, harness: LedgerHarness) -> None:
        """A failed job leaves one entry with its reason and step; a cancelled or finished one leaves none."""
        failed, fine, gone = [await harness.open() for _ in range(3)]
        await harness.report(failed.job_id)
        await harness.fail(failed.job_id)
        await harness.finish(fine.job_id)
        await harness.tell(gone.job_id, cmd.Cancel())
        (letter,) = await harness.ledger.dead_letters(JobQuery())
        assert (letter.job_id, letter.step_id, letter.error.code) == (failed.job_id, "embedding", "BAD_PDF")
        assert letter.redriven_as is None

    async def test_a_dead_letter_names_the_step_that_failed(self, harness: LedgerHarness) -> None:
        """In a group it is the one that failed, not the one that was cancelled with it."""
        pair = protocol(recipe("left", group="g"), recipe("right", group="g", max_execution_attempts=1))
        job = await harness.open(steps=pair)
        right = job.steps[1].attempt
        assert right is not None
        await harness.tell(job.job_id, cmd.Ack(step_id="right", attempt_no=1, lease_id=right.lease_id))
        harness.clock.advance(HOUR)
        await harness.tell(job.job_id, cmd.Ack(step_id="left", attempt_no=1, lease_id=_lease(job)))
        await harness.tell(job.job_id, cmd.Tick())
        (letter,) = await harness.ledger.dead_letters(JobQuery())
        assert (letter.step_id, letter.error.code) == ("right", "LEASE_EXPIRED")

    async def test_dead_letters_are_paged_and_scoped(self, harness: LedgerHarness) -> None:
        """Newest first, by cursor, and only of the tenants asked for."""
        made = []
        for name in ("acme", "zeta", "acme"):
            job = await harness.open(tenant=name)
            await harness.fail(job.job_id)
            made.append(job.job_id)
        mine = frozenset({"acme"})
        first = await harness.ledger.dead_letters(JobQuery(tenants=mine, limit=1))
        rest = await harness.ledger.dead_letters(JobQuery(tenants=mine, before_id=first[0].job_id))
        assert [letter.job_id for letter in first + rest] == [made[2], made[0]]

    async def test_a_redriven_dead_letter_names_its_successor(self, harness: LedgerHarness) -> None:
        """A retry marks what it retries, in the commit that makes it."""
        job = await harness.open()
        await harness.fail(job.job_id)
        assert (await harness.ledger.census(harness.clock())).dead_letters == 1
        again = await harness.open(ancestor_id=job.job_id)
        (letter,) = await harness.ledger.dead_letters(JobQuery())
        assert letter.redriven_as == again.job_id
        assert (await harness.ledger.census(harness.clock())).dead_letters == 0

    async def test_usage_counts_who_holds_a_slot(self, harness: LedgerHarness) -> None:
        """Traps A7, A8: running jobs count, paused and finished ones do not, by tenant and by mode."""
        held = [await harness.open() for _ in range(3)]
        await harness.open(mode="BURST")
        await harness.open(tenant="zeta")
        await harness.tell(held[0].job_id, cmd.Pause())
        await harness.finish(held[1].job_id)
        await harness.finish(held[1].job_id)
        usage = await harness.usage()
        assert (usage.tenant_jobs, usage.tenant_burst_jobs, usage.system_jobs) == (2, 1, 3)
        await harness.tell(held[0].job_id, cmd.Resume())
        assert (await harness.usage()).tenant_jobs == 3

    async def test_the_census_counts_what_is_not_over(self, harness: LedgerHarness) -> None:
        """By state, unsent, due and for how long, all or for some tenants."""
        one, two, three = [await harness.open() for _ in range(3)]
        other = await harness.open(tenant="zeta")
        await harness.tell(one.job_id, cmd.Pause())
        await harness.tell(two.job_id, cmd.Published(step_id="ocr", attempt_no=1))
        await harness.finish(three.job_id)
        due = due_at(await harness.stored(other.job_id))
        assert due is not None
        census = await harness.ledger.census(due + 5)
        assert census.by_state == {"PAUSED": 1, "DISPATCHING": 1, "QUEUED": 1}
        assert (census.unsent, census.due, census.due_lag_ms) == (2, 1, 5)
        mine = await harness.ledger.census(due, frozenset({"acme"}))
        assert mine.by_state == {"PAUSED": 1, "DISPATCHING": 1}

    async def test_old_jobs_are_forgotten_whole(self, harness: LedgerHarness) -> None:
        """Retention forgets what was over before a time, all of it, up to a limit; nothing else."""
        old = [await harness.open() for _ in range(3)]
        live = await harness.open()
        keyed = harness.order()
        await harness.create(keyed, claim(keyed, "name", explicit=True))
        for job in old:
            await harness.fail(job.job_id)
        await harness.finish(keyed.job_id)
        harness.clock.advance(HOUR)
        assert await harness.ledger.purge(harness.clock() - HOUR, 10) == 0
        assert await harness.ledger.purge(harness.clock(), 3) == 3
        assert await harness.ledger.purge(harness.clock(), 3) == 1
        assert await harness.ledger.purge(harness.clock(), 3) == 0
        assert [job.job_id for job in await harness.ledger.jobs(JobQuery())] == [live.job_id]
        assert await harness.ledger.events(old[0].job_id) == []
        assert await harness.ledger.dead_letters(JobQuery()) == []
        again = harness.order()
        assert not (await harness.create(again, claim(again, "name", explicit=True))).duplicate

    async def test_a_late_reply_does_not_revive_what_is_forgotten(self, harness: LedgerHarness) -> None:
        """A reply that comes while its job is being forgotten finds no job."""
        job = await harness.open()
        await harness.fail(job.job_id)
        harness.clock.advance(HOUR)
        purging = asyncio.ensure_future(harness.ledger.purge(harness.clock(), 10))
        late = cmd.Ack(step_id="ocr", attempt_no=1, lease_id="lease-1")
        answers = []
        while not purging.done():
            answers.append(harness.ask(job.job_id, late))
            await asyncio.sleep(0)  # noqa: TID251 - gives the loop away, waits for no time
        assert await purging == 1
        for answer in answers:
            await answer
        assert await harness.ask(job.job_id, late) is None
        assert await harness.ledger.events(job.job_id) == []
        assert await harness.ledger.purge(harness.clock() + HOUR, 10) == 0

    async def test_everything_is_back_after_a_restart(self, harness: LedgerHarness) -> None:
        """S9: what was answered is there again, counts too; a ledger that keeps nothing says so."""
        jobs = [await harness.open(tenant=name) for name in ("acme", "acme", "zeta", "acme")]
        keyed = harness.order()
        await harness.create(keyed, claim(keyed, "name", explicit=True))
        await harness.tell(jobs[0].job_id, cmd.Pause())
        await harness.fail(jobs[1].job_id)
        await harness.report(jobs[2].job_id)
        if harness.restart is None:
            assert not harness.ledger.capabilities.durable
            return
        before = await _everything(harness)
        await harness.reopen()
        assert await _everything(harness) == before
        again = harness.order()
        assert (await harness.create(again, claim(again, "name", explicit=True))).job.job_id == keyed.job_id
        await harness.tell(jobs[0].job_id, cmd.Resume())
        for job in (jobs[0], jobs[2]):
            await harness.finish(job.job_id)
            stored = await harness.stored(job.job_id)
            assert replay(job.order, await harness.ledger.events(job.job_id)) == stored

    async def test_counts_are_rows(self, harness: LedgerHarness) -> None:
        """S12: after any mixture of changes the counts are what the jobs say."""
        jobs = [await harness.open(tenant=name) for name in ("acme", "zeta") for _ in range(6)]
        for number, job in enumerate(jobs):
            if number % 6 == 1:
                await harness.tell(job.job_id, cmd.Pause())
            elif number % 6 == 2:
                await harness.tell(job.job_id, cmd.Cancel())
            elif number % 6 == 3:
                await harness.fail(job.job_id)
            elif number % 6 == 4:
                await harness.finish(job.job_id)
        counted = {name: (await harness.usage(name)).tenant_jobs for name in ("acme", "zeta")}
        assert check_slots(await harness.ledger.jobs(JobQuery()), counted) == []
        assert counted == {"acme": 2, "zeta": 2}


def _lease(job: Job) -> str:
    attempt = job.steps[0].attempt
    assert attempt is not None
    return attempt.lease_id


async def _everything(harness: LedgerHarness) -> dict[str, object]:
    ledger = harness.ledger
    jobs = await ledger.jobs(JobQuery())
    ids = [job.job_id for job in jobs]
    return {
        "jobs": jobs,
        "events": [await ledger.events(job_id) for job_id in ids],
        "outbox": sorted(await ledger.outbox(ids), key=lambda row: row.message_id),
        "dead": await ledger.dead_letters(JobQuery()),
        "census": await ledger.census(harness.clock() + HOUR),
        "usage": [await harness.usage(name) for name in ("acme", "zeta")],
        "open": await ledger.open_attempts(),
        "due": await ledger.due(harness.clock() + HOUR, 100),
    }
