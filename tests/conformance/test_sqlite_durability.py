from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from lucius.adapters.ledgers.sqlite import SqliteLedger, files
from lucius.core import commands as cmd
from lucius.core.promises import check_history
from lucius.errors import Unavailable
from lucius.ports.ledger import JobQuery
from lucius.testing.jobs import Hand
from lucius.testing.ledgers import LedgerHarness
from tests.conformance.power import PowerLoss, Snapshot, image, installed

ROUNDS = 25


@pytest.fixture
def power() -> Iterator[PowerLoss]:
    """A disk that can lose its power."""
    with installed() as watched:
        yield watched


async def _live(power: PowerLoss, path: Path, chance: random.Random) -> list[tuple[Snapshot, dict[str, int]]]:
    """Some life of a ledger, with moments at which the power might have gone."""
    clock = Hand()
    harness = LedgerHarness(ledger=SqliteLedger(str(path), clock=clock), clock=clock)
    answered: dict[str, int] = {}
    moments = []
    for _ in range(ROUNDS):
        waiting = [asyncio.ensure_future(harness.open()) for _ in range(chance.randrange(3))]
        if answered:
            job_id = chance.choice(sorted(answered))
            commands = (cmd.Pause(), cmd.Resume(), cmd.Tick(), cmd.Cancel())
            waiting.append(asyncio.ensure_future(_told(harness, job_id, chance.choice(commands))))
        for _ in range(chance.randrange(8)):
            await asyncio.sleep(0)
        known = dict(answered)  # what was answered before the power went
        moments.append((power.snapshot(), known))
        for job in await asyncio.gather(*waiting):
            answered[job.job_id] = max(job.version, answered.get(job.job_id, 0))
        moments.append((power.snapshot(), dict(answered)))
        if chance.random() < 0.15:
            assert isinstance(harness.ledger, SqliteLedger)
            harness.ledger._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert isinstance(harness.ledger, SqliteLedger)
    await harness.ledger.close()
    return moments


async def _told(harness: LedgerHarness, job_id: str, command: cmd.Command):
    change = await harness.ask(job_id, command)
    assert change is not None
    return change.decision.job


async def _lost(path: Path, answered: dict[str, int]) -> list[str]:
    """What a fresh start from this image lacks or has broken."""
    clock = Hand()
    try:
        ledger = SqliteLedger(str(path), clock=clock)
    except Unavailable as error:
        return [error.message]
    wrong = []
    for job in await ledger.jobs(JobQuery(limit=1000)):
        events = await ledger.events(job.job_id)
        wrong += [breach.what for breach in check_history(job.order, events, job)]
        if job.version < answered.pop(job.job_id, 0):
            wrong.append(f"{job.job_id} has gone back")
    await ledger.close()
    return wrong + [f"{job_id} is gone" for job_id in answered]


async def _losses(power: PowerLoss, root: Path, *, seed: int, images: int) -> list[str]:
    chance = random.Random(seed)
    path = root / f"live-{seed}" / "ledger.db"
    path.parent.mkdir()
    moments = await _live(power, path, chance)
    lost = []
    for number in range(images):
        snapshot, answered = chance.choice(moments)
        copy = image(snapshot, path, root / f"image-{seed}-{number}", chance)
        lost += [f"seed {seed}, image {number}: {what}" for what in await _lost(copy, dict(answered))]
    return lost


async def test_power_loss_takes_nothing_that_was_answered(power: PowerLoss, tmp_path: Path) -> None:
    """G1, S9: whatever was answered is in every image of the disk, and every image is a sound ledger."""
    lost = [each for seed in range(4) for each in await _losses(power, tmp_path, seed=seed, images=40)]
    assert lost == []


@pytest.mark.proof
async def test_power_loss_ten_thousand_times(power: PowerLoss, tmp_path: Path) -> None:
    """The same over a random start and as many images as asked for."""
    first = random.SystemRandom().randrange(2**32)
    images = int(os.environ.get("LUCIUS_IMAGES", "10000"))
    for seed in range(first, first + images // 100):
        assert await _losses(power, tmp_path, seed=seed, images=100) == []


async def test_the_images_have_teeth(
    power: PowerLoss, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G1: with `synchronous = NORMAL` the same images lose answered jobs, so the test above can fail."""
    monkeypatch.setattr(files, "PRAGMAS", files.PRAGMAS.replace("= FULL", "= NORMAL"))
    lost = await _losses(power, tmp_path, seed=1, images=40)
    assert any("is gone" in each or "gone back" in each for each in lost)


@pytest.mark.parametrize(("call", "error"), [("sync", apsw.IOError), ("write", apsw.FullError)])
async def test_a_failed_commit_is_the_end(
    power: PowerLoss, tmp_path: Path, call: str, error: type[Exception]
) -> None:
    """G2: after a disk error nobody is told it went well, nothing more is taken, and the file is sound."""
    heard: list[BaseException] = []
    clock, path = Hand(), tmp_path / "ledger.db"
    ledger = SqliteLedger(str(path), clock=clock, on_failure=heard.append)
    harness = LedgerHarness(ledger=ledger, clock=clock)
    kept = await harness.open()
    power.disk.fail[call] = error
    lost, also = harness.order(), harness.ask(kept.job_id, cmd.Pause())
    for waiting in (harness.create(lost), also):
        with pytest.raises(Unavailable) as refusal:
            await waiting
        assert refusal.value.code == "LEDGER_FAILED"
    del power.disk.fail[call]
    with pytest.raises(Unavailable) as refusal:
        await harness.open()
    assert refusal.value.code == "LEDGER_FAILED"
    assert heard == [ledger.failure]
    await ledger.close()
    assert await _lost(path, {kept.job_id: kept.version}) == []


async def test_a_full_disk_is_the_end(tmp_path: Path) -> None:
    """G2: a file that may not grow fails the commit that wanted to, and everybody who waited hears of it."""
    clock, path = Hand(), tmp_path / "ledger.db"
    ledger = SqliteLedger(str(path), clock=clock)
    harness = LedgerHarness(ledger=ledger, clock=clock)
    kept = await harness.open()
    ledger._connection.execute(f"PRAGMA max_page_count = {ledger._connection.pragma('page_count')}")
    waiting = [harness.create(harness.order(payload={"common": {"t": "x" * 9000}})) for _ in range(3)]
    for each in waiting:
        with pytest.raises(Unavailable, match="could not be written"):
            await each
    assert [job.job_id for job in await ledger.jobs(JobQuery())] == [kept.job_id]
    await ledger.close()
    assert await _lost(path, {kept.job_id: kept.version}) == []


async def test_a_failed_commit_in_memory_leaves_no_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of a ledger that failed see what was committed, not what was being written."""
    clock = Hand()
    ledger = SqliteLedger(":memory:", clock=clock)
    harness = LedgerHarness(ledger=ledger, clock=clock)
    kept = await harness.open()
    ledger._connection.execute(f"PRAGMA max_page_count = {ledger._connection.pragma('page_count')}")
    with pytest.raises(Unavailable):
        await harness.create(harness.order(payload={"common": {"t": "x" * 9000}}))
    assert [job.job_id for job in await ledger.jobs(JobQuery())] == [kept.job_id]
    await ledger.close()


async def test_a_batch_that_cannot_be_made_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of our own in making the statements is heard by everybody; nobody waits for ever."""
    clock = Hand()
    ledger = SqliteLedger(":memory:", clock=clock)
    harness = LedgerHarness(ledger=ledger, clock=clock)
    monkeypatch.setattr("lucius.adapters.ledgers.sqlite.rows.job_row", lambda job: 1 / 0)
    with pytest.raises(Unavailable, match="ZeroDivisionError"):
        await harness.open()
    await ledger.close()


async def test_closing_writes_what_was_taken(tmp_path: Path) -> None:
    """What was accepted before the close is durable after it, and nothing is accepted any more."""
    clock, path = Hand(), tmp_path / "ledger.db"
    ledger = SqliteLedger(str(path), clock=clock)
    harness = LedgerHarness(ledger=ledger, clock=clock)
    waiting = harness.create(harness.order())
    await ledger.close()
    opened = await waiting
    with pytest.raises(Unavailable) as refusal:
        await harness.open()
    assert refusal.value.code == "LEDGER_CLOSED"
    assert await _lost(path, {opened.job.job_id: opened.job.version}) == []
