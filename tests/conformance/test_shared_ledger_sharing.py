from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.adapters.ledgers.sqlite import shared_slots
from lucius.adapters.ledgers.sqlite.deliveries import SqliteDeliveries
from lucius.core import commands as cmd
from lucius.core.decide import Verdict, decide, open_job
from lucius.core.job import Job
from lucius.errors import Broken
from lucius.ports.deliveries import DeliveryAttempt, DeliveryState, NewDelivery
from lucius.ports.ledger import Change, Usage
from lucius.testing.jobs import START, change, claim
from tests.conformance.sharing import Pair, shared_pair


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """Two that share a file."""
    async with shared_pair(tmp_path / "ledger.db") as both:
        yield both


async def test_each_decides_on_what_the_other_wrote(pair: Pair) -> None:
    """What one keeps in memory is not believed once another has written."""
    job = await pair.one.open()
    for command in (cmd.Pause(), cmd.Resume()):
        assert await pair.two.tell(job.job_id, command) is Verdict.ACCEPTED
        assert await pair.one.tell(job.job_id, command) is Verdict.DUPLICATE
    assert await pair.one.stored(job.job_id) == await pair.two.stored(job.job_id)


async def test_slots_are_counted_over_all_processes(pair: Pair) -> None:
    """A job of one process takes a slot in the sight of the other, before and inside a batch."""
    held = await pair.one.open()
    await pair.two.open(mode="BURST")
    expected = Usage(tenant_jobs=2, tenant_burst_jobs=1, system_jobs=2)
    assert [await pair.one.usage(), await pair.two.usage(), pair.first.usage("acme")] == [expected] * 3
    await pair.two.tell(held.job_id, cmd.Pause())
    seen: list[tuple[int, int]] = []
    orders = [pair.one.order(tenant="zeta") for _ in range(2)]

    def opener(usage: Usage) -> Change:
        seen.append((usage.tenant_jobs, usage.system_jobs))
        return change(open_job(orders[len(seen) - 1], pair.one.chance()))

    await asyncio.gather(*(pair.first.create(claim(order), opener) for order in orders))
    assert seen == [(0, 1), (1, 2)]
    assert (await pair.two.usage("zeta")).tenant_jobs == 2


@pytest.mark.parametrize(("sql", "values"), [(shared_slots._TENANT, ("acme",)), (shared_slots._SYSTEM, ())])
async def test_counting_reads_an_index_of_what_is_open(pair: Pair, sql: str, values: tuple[str, ...]) -> None:
    """Counting looks up states by tenant; it never walks through all jobs that were."""
    plan = [line[-1] for line in pair.first.reader.query(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert [line for line in plan if line.startswith("SCAN") and line != "SCAN tenants"] == []
    assert "(tenant_id=? AND state=?)" in plan[-1]


async def test_counts_belong_to_their_decision(pair: Pair) -> None:
    """A judge that looks gets the counts; who looks only afterwards is told, not misled."""
    job = await pair.one.open()
    kept: list[Usage] = []

    def judge(found: Job, usage: Usage) -> Change:
        kept.append(usage)
        assert len(kept) == 2 or usage.tenant_jobs == 1
        return change(decide(found, cmd.Resume(), START, pair.one.chance()))

    for _ in range(2):
        await pair.first.change(job.job_id, judge)
    assert kept[0].system_jobs == 1
    with pytest.raises(Broken):
        _ = kept[1].system_jobs


async def test_a_storm_of_one_key_is_one_job(pair: Pair) -> None:
    """Trap A1 over two processes: one job, and everybody is told its id."""
    asked = [(harness, harness.order()) for harness in (pair.one, pair.two) for _ in range(32)]
    opened = await asyncio.gather(*(harness.create(order, claim(order, "same")) for harness, order in asked))
    assert len({each.job.job_id for each in opened}) == 1
    assert sorted(each.duplicate for each in opened) == [False] + [True] * 63


async def test_a_judge_runs_once(pair: Pair) -> None:
    """However the processes meet, nobody is judged twice."""
    jobs = [await pair.one.open() for _ in range(5)]
    ran: list[str] = []

    def judge(job: Job, _: Usage) -> Change:
        ran.append(job.job_id)
        return change(decide(job, cmd.Tick(), START, pair.one.chance()))

    asked = [ledger.change(job.job_id, judge) for job in jobs for ledger in (pair.first, pair.second)]
    await asyncio.gather(*asked)
    assert sorted(ran) == sorted(job.job_id for job in jobs for _ in range(2))


async def test_foreign_commits_are_heard_of_and_own_ones_are_not(pair: Pair) -> None:
    """Who watches is told that another process wrote; its own commits come through `on_commit` alone."""
    told, own, looks = asyncio.Event(), [], asyncio.Semaphore(0)
    pair.first.on_foreign_commit(told.set)
    pair.first.on_commit(lambda changes: own.append(len(changes)))

    async def pause(_: float) -> None:
        await looks.acquire()

    watching = asyncio.create_task(pair.first.watch(pause))
    job = await pair.one.open()
    await pair.one.tell(job.job_id, cmd.Pause())
    await pair.one.tell(job.job_id, cmd.Pause())
    looks.release()
    await pair.one.tell(job.job_id, cmd.Pause())
    assert (told.is_set(), own) == (False, [1, 1])
    await pair.two.tell(job.job_id, cmd.Resume())
    looks.release()
    async with asyncio.timeout(10):
        await told.wait()
    assert own == [1, 1]
    watching.cancel()


async def test_a_writer_hears_of_others_without_watching(pair: Pair) -> None:
    """A process that is always writing notices when it writes."""
    told = asyncio.Event()
    pair.first.on_foreign_commit(told.set)
    await pair.two.open()
    await pair.one.open()
    async with asyncio.timeout(10):
        await told.wait()


async def test_listeners_hear_commits_in_their_order(pair: Pair) -> None:
    """Each process hears of its own changes, all of them, by rising version of a job."""
    heard: dict[str, list[int]] = {"first": [], "second": []}
    pair.first.on_commit(lambda made: heard["first"].extend(each.decision.job.version for each in made))
    pair.second.on_commit(lambda made: heard["second"].extend(each.decision.job.version for each in made))
    job = await pair.one.open()
    for _ in range(5):
        asked = [harness.ask(job.job_id, cmd.Pause()) for harness in (pair.one, pair.two)]
        asked += [harness.ask(job.job_id, cmd.Resume()) for harness in (pair.two, pair.one)]
        await asyncio.gather(*asked)
    assert all(versions == sorted(versions) for versions in heard.values())
    everything = heard["first"] + heard["second"]
    assert len(set(everything)) == len(everything)
    assert max(everything) == (await pair.one.stored(job.job_id)).version


async def test_what_one_forgets_the_other_does_not_find(pair: Pair) -> None:
    """Retention in one process is seen by the other at once."""
    job = await pair.one.open()
    await pair.one.fail(job.job_id)
    pair.one.clock.advance(1)
    assert await pair.second.purge(pair.one.clock(), 10) == 1
    assert await pair.one.ask(job.job_id, cmd.Tick()) is None
    assert await pair.first.purge(pair.one.clock(), 10) == 0


async def test_one_process_sends_the_webhooks_of_all(pair: Pair) -> None:
    """A delivery born in one process is due, settled and seen through the other."""
    order = pair.one.order()
    new = NewDelivery(
        delivery_id="d1", job_id=order.job_id, tenant_id="acme", seq=1, url_no=0, url="https://a.example/h",
        shown_url="https://a.example", host="a.example", event_type="job.accepted", body=b"{}",
        created_at=START,
    )  # fmt: skip

    def opener(_: Usage) -> Change:
        made = change(open_job(order, pair.one.chance()))
        return Change(decision=made.decision, outbox=made.outbox, deliveries=(new,))

    await pair.first.create(claim(order), opener)
    sender = SqliteDeliveries(
        pair.second.reader.query, lambda sql, values: pair.second.execute([(sql, [values])])
    )
    (due,) = await sender.due(START, 10, per_host=5)
    assert (due.delivery_id, due.body) == ("d1", b"{}")
    await sender.record("d1", DeliveryAttempt(at=START, took_ms=1), None, DeliveryState.DELIVERED)
    reader = SqliteDeliveries(
        pair.first.reader.query, lambda sql, values: pair.first.execute([(sql, [values])])
    )
    assert [view.state for view in await reader.for_job(order.job_id)] == [DeliveryState.DELIVERED]
    assert await sender.due(START, 10, per_host=5) == []
