from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from lucius.adapters.ledgers.sqlite import SqliteLedger, files, schema
from lucius.errors import Unavailable
from lucius.testing.jobs import Hand
from lucius.testing.ledgers import LedgerHarness

OPEN = """
import asyncio, sys
from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.errors import Unavailable
async def main():
    try:
        await SqliteLedger(sys.argv[1], clock=lambda: 0).close()
    except Unavailable as error:
        print(error.code)
    else:
        print("OPENED")
asyncio.run(main())
"""


def _in_another_process(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def test_a_second_process_is_refused(tmp_path: Path) -> None:
    """One ledger, one process: the second is told who is in the way, and may open it afterwards."""
    path = tmp_path / "ledger.db"
    ledger = SqliteLedger(str(path), clock=Hand())
    assert _in_another_process(path) == "LEDGER_IN_USE"
    await ledger.close()
    assert _in_another_process(path) == "OPENED"


async def test_a_second_ledger_in_this_process_is_refused(tmp_path: Path) -> None:
    """The lock is the file's, not the process's."""
    path = str(tmp_path / "ledger.db")
    ledger = SqliteLedger(path, clock=Hand())
    with pytest.raises(Unavailable) as refusal:
        SqliteLedger(path, clock=Hand())
    assert refusal.value.code == "LEDGER_IN_USE"
    await ledger.close()


async def test_a_newer_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    """What a newer Lucius wrote is not touched, and the lock is let go."""
    path = tmp_path / "ledger.db"
    await SqliteLedger(str(path), clock=Hand()).close()
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS) + 1}")
    tables = connection.execute("SELECT sql FROM sqlite_schema").fetchall()
    connection.close()
    for _ in range(2):
        with pytest.raises(Unavailable) as refusal:
            SqliteLedger(str(path), clock=Hand())
        assert refusal.value.code == "LEDGER_TOO_NEW"
    connection = apsw.Connection(str(path))
    assert connection.execute("SELECT sql FROM sqlite_schema").fetchall() == tables
    connection.close()


async def test_an_older_ledger_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of an earlier schema gets the migrations it lacks, once, and keeps its jobs."""
    path, clock = str(tmp_path / "ledger.db"), Hand()
    ledger = SqliteLedger(path, clock=clock)
    assert ledger.schema_versions == (0, len(schema.MIGRATIONS))
    job = await LedgerHarness(ledger=ledger, clock=clock).open()
    await ledger.close()
    more = (*schema.MIGRATIONS, "CREATE TABLE notes (body TEXT); INSERT INTO notes VALUES ('once');")
    monkeypatch.setattr(schema.migrate, "__defaults__", (more,))
    for expected in ((len(more) - 1, len(more)), (len(more), len(more))):
        ledger = SqliteLedger(path, clock=clock)
        assert ledger.schema_versions == expected
        assert await ledger.job(job.job_id) == job
        assert ledger.reader.query("SELECT count(*) FROM notes") == [(1,)]
        await ledger.close()


async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All or nothing: a broken migration leaves the file as the last good one made it."""
    path, clock = str(tmp_path / "ledger.db"), Hand()
    await SqliteLedger(path, clock=clock).close()
    bad = (*schema.MIGRATIONS, "CREATE TABLE notes (body TEXT); INSERT INTO nowhere VALUES (1);")
    monkeypatch.setattr(schema.migrate, "__defaults__", (bad,))
    with pytest.raises(Unavailable) as refusal:
        SqliteLedger(path, clock=clock)
    assert refusal.value.code == "LEDGER_NOT_MIGRATED"
    monkeypatch.undo()
    ledger = SqliteLedger(path, clock=clock)
    assert ledger.schema_versions == (len(schema.MIGRATIONS), len(schema.MIGRATIONS))
    assert ledger.reader.query("SELECT 1 FROM sqlite_schema WHERE name = 'notes'") == []
    await ledger.close()


async def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    """Something else at that path is not overwritten."""
    path = tmp_path / "ledger.db"
    path.write_bytes(b"this is a letter, not a database; " * 40)
    before = path.read_bytes()
    with pytest.raises(Unavailable) as refusal:
        SqliteLedger(str(path), clock=Hand())
    assert refusal.value.code == "LEDGER_UNREADABLE"
    assert path.read_bytes() == before


def _refused(directory: Path, mounts: Path) -> str | None:
    try:
        files.refuse_network(directory / "ledger.db", mounts)
    except Unavailable as error:
        return error.code
    return None


@pytest.mark.parametrize(
    ("mounts", "refused"),
    [
        ("disk / ext4 rw 0 0\nserver:/x {dir} nfs4 rw 0 0\n", True),
        ("disk / ext4 rw 0 0\nserver:/x {dir}/inner nfs4 rw 0 0\n", False),
        ("server:/x / cifs rw 0 0\ndisk {dir} ext4 rw 0 0\n", False),
        ("disk {dir} ext4 rw 0 0\nserver:/x {dir} nfs rw 0 0\n", True),
    ],
)
def test_a_network_file_system_is_refused(tmp_path: Path, mounts: str, *, refused: bool) -> None:
    """Where locks and fsync cannot be trusted, nothing is promised; the nearest and newest mount counts."""
    table = tmp_path / "mounts"
    table.write_text(mounts.format(dir=tmp_path.resolve()))
    assert _refused(tmp_path, table) == ("LEDGER_ON_NETWORK" if refused else None)


def test_a_machine_without_a_mount_table_is_trusted(tmp_path: Path) -> None:
    """Elsewhere than on Linux nothing can be looked up."""
    assert _refused(tmp_path, tmp_path / "nothing") is None


async def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Others on the machine cannot read the ledger."""
    path = tmp_path / "ledger.db"
    ledger = SqliteLedger(str(path), clock=Hand())
    assert path.stat().st_mode & 0o077 == 0
    assert ledger._connection.pragma("synchronous") == 2
    assert ledger._connection.pragma("journal_mode") == "wal"
    assert ledger._connection.pragma("wal_autocheckpoint") == 4000
    await ledger.close()
