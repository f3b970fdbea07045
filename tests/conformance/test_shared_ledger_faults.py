from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from lucius.adapters.ledgers.sqlite import SqliteLedger, files, schema
from lucius.adapters.ledgers.sqlite.shared_ledger import SharedSqliteLedger
from lucius.adapters.ledgers.sqlite.verify import verify
from lucius.core import commands as cmd
from lucius.core.job import Job
from lucius.core.states import JobState
from lucius.errors import Unavailable
from lucius.ports.ledger import Change, JobQuery, Usage
from lucius.testing.jobs import Hand
from lucius.testing.ledgers import LedgerHarness
from tests.conformance.power import installed
from tests.conformance.sharing import BRIEF, Pair, shared_pair


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """Two that share a file."""
    async with shared_pair(tmp_path / "ledger.db") as both:
        yield both


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[Pair]:
    """Two that share a file and do not wait for long."""
    async with shared_pair(tmp_path / "ledger.db", BRIEF) as both:
        yield both


def _code_of(kind: type[SqliteLedger | SharedSqliteLedger], path: Path) -> str:
    with pytest.raises(Unavailable) as refusal:
        kind(str(path), clock=Hand())
    return refusal.value.code


async def test_sharing_and_holding_alone_refuse_each_other(tmp_path: Path) -> None:
    """A file is shared or somebody's own; whoever comes second is told, and may come when it is free."""
    path = tmp_path / "ledger.db"
    alone = SqliteLedger(str(path), clock=Hand())
    assert _code_of(SharedSqliteLedger, path) == "LEDGER_IN_USE"
    await alone.close()
    shared = [SharedSqliteLedger(str(path), clock=Hand()) for _ in range(2)]
    assert shared[0].capabilities.shared
    await shared[0].close()
    assert _code_of(SqliteLedger, path) == "LEDGER_IN_USE"
    await shared[1].close()
    await SqliteLedger(str(path), clock=Hand()).close()


async def test_what_shared_ones_wrote_an_exclusive_one_reads(pair: Pair) -> None:
    """Same file, same rows: the embedded engine goes on where the shared processes stopped."""
    job = await pair.one.open()
    await pair.two.tell(job.job_id, cmd.Pause())
    await pair.first.close()
    await pair.second.close()
    alone = SqliteLedger(str(pair.path), clock=Hand())
    found = await alone.job(job.job_id)
    assert found is not None
    assert (found.state, alone.usage("acme").tenant_jobs) == (JobState.PAUSED, 0)
    await alone.close()


async def test_a_newer_schema_waits_until_it_is_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is not changed under a process that was built for it as it was."""
    path = tmp_path / "ledger.db"
    old = SharedSqliteLedger(str(path), clock=Hand())
    more = (*schema.MIGRATIONS, "CREATE TABLE notes (body TEXT);")
    monkeypatch.setattr(schema, "MIGRATIONS", more)
    monkeypatch.setattr(schema.migrate, "__defaults__", (more,))
    assert _code_of(SharedSqliteLedger, path) == "LEDGER_IN_USE"
    await old.close()
    new = SharedSqliteLedger(str(path), clock=Hand())
    assert new.schema_versions == (len(more) - 1, len(more))
    also = SharedSqliteLedger(str(path), clock=Hand())
    assert also.schema_versions == (len(more), len(more))
    await new.close()
    await also.close()


async def test_a_ledger_in_memory_is_not_shared() -> None:
    """Nobody else could see it, so it says no."""
    assert _code_of(SharedSqliteLedger, Path(":memory:")) == "LEDGER_NOT_SHARED"


async def test_opening_waits_for_its_turn_and_no_longer(tmp_path: Path) -> None:
    """Somebody who never finishes opening is not waited for without end."""
    path = tmp_path / "ledger.db"
    with (tmp_path / "ledger.db.turn").open("a+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        with pytest.raises(Unavailable) as refusal:
            SharedSqliteLedger(str(path), clock=Hand(), bound=BRIEF)
        assert refusal.value.code == "LEDGER_BUSY"
    await SharedSqliteLedger(str(path), clock=Hand()).close()


async def test_a_start_that_fails_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a start that failed half-way the file is free."""
    path = tmp_path / "ledger.db"
    monkeypatch.setattr(files, "open_reader", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        SharedSqliteLedger(str(path), clock=Hand())
    monkeypatch.undo()
    await SqliteLedger(str(path), clock=Hand()).close()


async def _refused_as_busy(hasty: Pair, job: Job) -> None:
    ran: list[Job] = []

    def judge(found: Job, _: Usage) -> Change:
        ran.append(found)
        raise AssertionError

    with pytest.raises(Unavailable) as refusal:
        await hasty.first.change(job.job_id, judge)
    assert (refusal.value.code, refusal.value.retryable, ran) == ("LEDGER_BUSY", True, [])
    assert hasty.first.failure is None


async def _sooner_or_later(hasty: Pair, job: Job) -> None:
    """Pause it, asking again for as long as it is busy."""
    async with asyncio.timeout(60):
        while True:
            try:
                await hasty.one.tell(job.job_id, cmd.Pause())
            except Unavailable as error:
                if error.code != "LEDGER_BUSY":
                    raise
            else:
                return


async def test_a_process_that_keeps_its_turn_is_waited_for_so_long(hasty: Pair) -> None:
    """Past the bound callers hear so, unjudged; later ones still get in when the turn comes."""
    job = await hasty.one.open()
    with (hasty.path.parent / "ledger.db.turn").open("a+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        await _refused_as_busy(hasty, job)
        await _refused_as_busy(hasty, job)
        waiting = asyncio.create_task(_sooner_or_later(hasty, job))
    await waiting
    assert (await hasty.two.stored(job.job_id)).state is JobState.PAUSED
    assert hasty.first.failure is None


async def test_a_tool_that_keeps_sqlites_lock_is_waited_for_so_long(hasty: Pair) -> None:
    """The same for somebody who does not take turns; what was asked too soon may be asked again."""
    job = await hasty.one.open()
    tool = apsw.Connection(str(hasty.path))
    tool.execute("BEGIN IMMEDIATE")
    await _refused_as_busy(hasty, job)
    tool.execute("ROLLBACK")
    tool.close()
    await _sooner_or_later(hasty, job)
    assert (await hasty.two.stored(job.job_id)).state is JobState.PAUSED


def _no_judge(_: Job, __: Usage) -> Change:
    raise LookupError


async def test_the_event_loop_does_not_wait_for_others(pair: Pair) -> None:
    """While another process holds the turn, reads are answered and the loop turns."""
    job = await pair.one.open()
    with (pair.path.parent / "ledger.db.turn").open("a+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        waiting = asyncio.ensure_future(pair.first.change(job.job_id, _no_judge))
        for _ in range(20):
            await asyncio.sleep(0)
        assert await pair.first.job(job.job_id) == job
        assert (await pair.first.census(pair.one.clock())).by_state == {"QUEUED": 1}
        assert not waiting.done()
    with pytest.raises(LookupError):
        await waiting


async def test_closing_does_not_wait_for_a_turn_without_end(tmp_path: Path) -> None:
    """A process can go although another holds the turn: who waited hears that it is busy."""
    path, clock = tmp_path / "ledger.db", Hand()
    ledger = SharedSqliteLedger(str(path), clock=clock, bound=BRIEF)
    with (tmp_path / "ledger.db.turn").open("a+") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        harness = LedgerHarness(ledger=ledger, clock=clock)
        waiting = harness.create(harness.order())
        async with asyncio.timeout(30):
            await ledger.close()
        with pytest.raises(Unavailable):
            await waiting
        with pytest.raises(Unavailable) as refusal:
            await ledger.execute([])
        assert refusal.value.code == "LEDGER_CLOSED"
    alone = SqliteLedger(str(path), clock=clock)
    assert await alone.jobs(JobQuery()) == []
    await alone.close()


@pytest.mark.parametrize(("call", "error"), [("sync", apsw.IOError), ("write", apsw.FullError)])
async def test_a_failed_commit_ends_a_shared_ledger(
    tmp_path: Path, call: str, error: type[Exception]
) -> None:
    """G2: nobody is told it went well, this process takes nothing more, and the others go on."""
    heard: list[BaseException] = []
    clock, path = Hand(), tmp_path / "ledger.db"
    with installed() as power:
        ledger = SharedSqliteLedger(str(path), clock=clock, on_failure=heard.append)
        other = SharedSqliteLedger(str(path), clock=clock)
        harness = LedgerHarness(ledger=ledger, clock=clock)
        kept = await harness.open()
        power.disk.fail[call] = error
        for waiting in (harness.create(harness.order()), harness.ask(kept.job_id, cmd.Pause())):
            with pytest.raises(Unavailable) as refusal:
                await waiting
            assert refusal.value.code == "LEDGER_FAILED"
        del power.disk.fail[call]
        with pytest.raises(Unavailable, match="has stopped"):
            await harness.open()
        assert heard == [ledger.failure]
        await LedgerHarness(ledger=other, clock=clock, leases=harness.leases).tell(kept.job_id, cmd.Pause())
        await ledger.close()
        await other.close()
    assert verify(path).findings == ()


async def test_a_batch_that_cannot_be_made_ends_a_shared_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake of our own in making the statements is heard by everybody; nobody waits for ever."""
    clock = Hand()
    ledger = SharedSqliteLedger(str(tmp_path / "ledger.db"), clock=clock)
    monkeypatch.setattr("lucius.adapters.ledgers.sqlite.rows.job_row", lambda job: 1 / 0)
    with pytest.raises(Unavailable, match="ZeroDivisionError"):
        await LedgerHarness(ledger=ledger, clock=clock).open()
    await ledger.close()


async def test_closing_a_shared_ledger_writes_what_was_taken(pair: Pair) -> None:
    """What was accepted before the close is durable after it, patient or not."""
    job = await pair.one.open()
    waiting = [pair.one.create(pair.one.order()), pair.one.ask(job.job_id, cmd.Pause())]
    await pair.first.close()
    await asyncio.gather(*waiting)
    assert len(await pair.second.jobs(JobQuery())) == 2
    assert (await pair.two.stored(job.job_id)).state is JobState.PAUSED
