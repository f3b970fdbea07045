from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from lucius.adapters.buses import sqlite_file
from lucius.adapters.buses.sqlite import SqliteBus
from lucius.errors import Unavailable
from tests.conformance.bus_process import OCR, complete, message, new_bus
from tests.conformance.power import PowerLoss, Snapshot, image, installed


@pytest.fixture
def power() -> Iterator[PowerLoss]:
    """A disk that can lose its power."""
    with installed() as watched:
        yield watched


Known = tuple[frozenset[str], frozenset[str]]
"""What was published, and what was settled, as far as anybody was told."""


async def _life(power: PowerLoss, path: Path, chance: random.Random) -> list[tuple[Snapshot, Known]]:
    """Publishing, lending and settling, with moments at which the power might have gone."""
    bus = new_bus(str(path))
    published: set[str] = set()
    settled: set[str] = set()
    moments = []
    for number in range(30):
        verb = chance.random()
        if verb < 0.5:
            names = [f"m-{number}-{part}" for part in range(chance.randrange(1, 4))]
            await bus.publish([message(name) for name in names])
            published.update(names)
        else:
            lent = await bus.receive(OCR, limit=2, wait=0)
            if verb < 0.8:
                settled.update(each.message.message_id for each in lent)  # asked: gone or not, both are right
                await bus.settle(complete(lent))
        moments.append((power.snapshot(), (frozenset(published), frozenset(settled))))
        if verb > 0.9:
            bus._writer._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    await bus.close()
    return moments


def _held(path: Path) -> set[str]:
    """What a file holds; raises what a broken one raises."""
    connection = apsw.Connection(str(path), vfs="unix")
    [(sound,)] = connection.execute("PRAGMA integrity_check").fetchall()
    assert sound == "ok"
    found = {str(name) for (name,) in connection.execute("SELECT message_id FROM parcels")}
    [(held,)] = connection.execute("SELECT held FROM state")
    assert held == len(found)
    connection.close()
    return found


async def _losses(power: PowerLoss, root: Path, seed: int) -> list[str]:
    chance = random.Random(seed)
    path = root / f"live-{seed}" / "bus.db"
    path.parent.mkdir()
    moments = await _life(power, path, chance)
    lost: list[str] = []
    for number in range(25):
        snapshot, (published, settled) = chance.choice(moments)
        found = _held(image(snapshot, path, root / f"image-{seed}-{number}", chance))
        lost += sorted(published - settled - found)
        assert found <= published
    return lost


async def test_power_loss_takes_nothing_that_was_published(power: PowerLoss, tmp_path: Path) -> None:
    """Each image of the disk is a sound bus with all that was answered, though only publishes wait for it."""
    assert [await _losses(power, tmp_path, seed) for seed in range(4)] == [[]] * 4


async def test_the_images_have_teeth(
    power: PowerLoss, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If publishes did not wait for the disk either, the same images would lack some."""
    monkeypatch.setattr("lucius.adapters.buses.sqlite_writer.Writer._start", _start_lazily)
    assert await _losses(power, tmp_path, 1) != []


def _start_lazily(writer, *, durable: bool) -> None:
    writer._connection.execute("PRAGMA synchronous = NORMAL")
    writer._connection.execute("BEGIN IMMEDIATE")


@pytest.mark.parametrize(("call", "error"), [("sync", apsw.IOError), ("write", apsw.FullError)])
async def test_a_disk_error_is_told_and_passes(
    power: PowerLoss, tmp_path: Path, call: str, error: type[Exception]
) -> None:
    """Whoever was not served hears so; when the disk is well again, so is the bus, with nothing half done."""
    bus = new_bus(str(tmp_path / "bus.db"))
    await bus.publish([message("kept")])
    power.disk.fail[call] = error
    with pytest.raises(Unavailable) as refusal:
        await bus.publish([message("one"), message("two")])
    assert (refusal.value.code, refusal.value.retryable) == ("BUS_UNAVAILABLE", True)
    del power.disk.fail[call]
    await bus.publish([message("later")])
    got = await bus.receive(OCR, limit=9, wait=0)
    assert {each.message.message_id for each in got} == {"kept", "later"}
    await bus.close()


async def test_the_file_is_durable_and_its_owners_alone(tmp_path: Path) -> None:
    """WAL, FULL where something is published, and nobody else on the machine may read it."""
    path = tmp_path / "bus.db"
    bus = new_bus(str(path))
    await bus.publish([message("m")])
    connection = bus._writer._connection
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    assert [each.name for each in tmp_path.iterdir() if each.stat().st_mode & 0o077] == []
    await bus.close()


async def test_a_newer_bus_is_refused_and_left_alone(tmp_path: Path) -> None:
    """What a newer Lucius wrote is not touched."""
    path = tmp_path / "bus.db"
    await new_bus(str(path)).close()
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {sqlite_file.VERSION + 1}")
    connection.close()
    for _ in range(2):
        with pytest.raises(Unavailable) as refusal:
            new_bus(str(path))
        assert refusal.value.code == "BUS_TOO_NEW"


@pytest.mark.parametrize("content", [b"this is a letter, not a database; " * 40, None])
async def test_what_is_no_bus_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Something else at that path is not overwritten, and a place that is not there is not made."""
    path = tmp_path / "missing" / "bus.db" if content is None else tmp_path / "bus.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unavailable) as refusal:
        new_bus(str(path))
    assert refusal.value.code == "BUS_UNAVAILABLE"
    assert (path.read_bytes() if path.exists() else None) == content


@pytest.mark.parametrize(("kind", "refused"), [("nfs4", "BUS_ON_NETWORK"), ("ext4", None)])
def test_a_network_file_system_is_refused(tmp_path: Path, kind: str, refused: str | None) -> None:
    """Where locks cannot be trusted, nothing is promised."""
    table = tmp_path / "mounts"
    table.write_text(f"disk / ext4 rw 0 0\nserver:/x {tmp_path.resolve()} {kind} rw 0 0\n")
    code = None
    try:
        sqlite_file.refuse_network(tmp_path / "bus.db", table)
    except Unavailable as error:
        code = error.code
    assert code == refused


def test_a_machine_without_a_mount_table_is_trusted(tmp_path: Path) -> None:
    """Elsewhere than on Linux nothing can be looked up, and a bus opens."""
    sqlite_file.refuse_network(tmp_path / "bus.db", tmp_path / "nothing")
    assert isinstance(new_bus(str(tmp_path / "bus.db")), SqliteBus)
