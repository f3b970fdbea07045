from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import apsw
import pytest

from lucius import disk
from lucius.errors import Broken, Unavailable
from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteRuns, SqliteTriggers, schema
from lucius.lifebook.core.wallet import InsufficientCreditsError
from lucius.testing.lifebook.runs import new_run
from lucius.testing.lifebook.trigger_stores import hook
from tests.lifebook.sqlite_lifebook import Hand, new_queue, opened


async def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Nobody else on the machine can read what runs were given, nor hooks' secrets."""
    async with opened(tmp_path / "lifebook.db", Hand()) as once_more:
        await SqliteRuns(once_more()).create(new_run(), opening=1000)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert {"lifebook.db", "lifebook.db-wal", "lifebook.db.lock"} <= set(modes)
    assert set(modes.values()) == {0o600}


async def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    """What a newer Lucius wrote is not touched."""
    path = tmp_path / "lifebook.db"
    async with opened(path, Hand()) as once_more:
        once_more()
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(Unavailable) as refusal:
        LifebookFile(str(path), clock=Hand())
    assert refusal.value.code == "LIFEBOOK_TOO_NEW"


@pytest.mark.parametrize("content", [b"this is a letter, and no database at all" * 40, None])
async def test_what_is_no_lifebook_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Something else at that path is not overwritten, and a place that is not there is not made."""
    path = tmp_path / "missing" / "lifebook.db" if content is None else tmp_path / "lifebook.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unavailable) as refusal:
        LifebookFile(str(path), clock=Hand())
    if content is not None:  # trying again does not repair it
        assert refusal.value.code == "LIFEBOOK_DAMAGED"
        assert "restore a backup" in refusal.value.message
    else:
        assert refusal.value.code == "LIFEBOOK_UNAVAILABLE"
    assert (path.read_bytes() if path.exists() else None) == content


@pytest.mark.parametrize(("kind", "refused"), [("nfs4", "ANY_CODE"), ("ext4", None)])
def test_a_network_file_system_is_refused(tmp_path: Path, kind: str, refused: str | None) -> None:
    """Where locks cannot be trusted nothing is promised; the refusal has its owner's code."""
    table = tmp_path / "mounts"
    table.write_text(f"disk / ext4 rw 0 0\nserver:/x {tmp_path.resolve()} {kind} rw 0 0\n")
    code = None
    try:
        disk.refuse_network(tmp_path / "lifebook.db", code="ANY_CODE", mounts=table)
    except Unavailable as error:
        code = error.code
    assert code == refused


async def test_a_write_waits_for_another_process(tmp_path: Path) -> None:
    """While somebody else writes, a write waits and the event loop goes on."""
    path = tmp_path / "lifebook.db"
    async with opened(path, Hand()) as once_more:
        store = SqliteRuns(once_more())
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(store.create(new_run(), opening=1000))
        done, _ = await asyncio.wait([writing], timeout=0.05)
        assert not done
        other.execute("ROLLBACK")
        other.close()
        assert (await writing).fresh


async def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that stays locked is told as such, nothing is written, and reading goes on meanwhile."""
    monkeypatch.setattr(schema, "_LOOKS", 5)
    path = tmp_path / "lifebook.db"
    async with opened(path, Hand()) as once_more:
        store, run = SqliteRuns(once_more()), new_run()
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable) as refusal:
            await store.create(run, opening=1000)
        assert refusal.value.code == "LIFEBOOK_UNAVAILABLE"
        assert await store.get(run.job_id) is None
        other.close()
        assert (await store.create(run, opening=1000)).fresh


async def test_a_refusal_takes_back_its_own_writes_only(tmp_path: Path) -> None:
    """Many in one transaction: who is refused leaves nothing, the others all they wrote."""
    async with opened(tmp_path / "lifebook.db", Hand()) as once_more:
        store = SqliteRuns(once_more())
        runs = [new_run(workspace_id=f"w{number}") for number in range(20)]
        answers = await asyncio.gather(
            *(store.create(run, opening=1000 * (at % 2)) for at, run in enumerate(runs)),
            return_exceptions=True,
        )
        refused = [isinstance(answer, InsufficientCreditsError) for answer in answers]
        assert refused == [True, False] * 10
        assert [await store.get(run.job_id) is None for run in runs] == refused
        assert await store.wallet("w0") is None


async def test_a_mistake_is_its_callers(tmp_path: Path) -> None:
    """Work that fails half-way fails for who asked for it, and for nobody else; what it did is undone."""
    async with opened(tmp_path / "lifebook.db", Hand()) as once_more:
        file = once_more()
        store, run = SqliteRuns(file), new_run()
        await SqliteTriggers(file).put_hook(hook())

        def wrong(connection: apsw.Connection) -> None:
            connection.execute("DELETE FROM hooks")
            raise ZeroDivisionError

        answers = await asyncio.gather(
            file.write(wrong), file.read(wrong), store.create(run, opening=1000), return_exceptions=True
        )
        assert [type(answer).__name__ for answer in answers] == [
            "ZeroDivisionError",
            "ZeroDivisionError",
            "Created",
        ]
        assert await SqliteTriggers(file).hook("h-1") == hook()


class _FailingDisk:
    """A connection whose first commit fails as on a broken disk; what comes after may seem to be fine."""

    def __init__(self, real: apsw.Connection) -> None:
        self._real = real
        self._failed = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def execute(self, statement: str, *values: object) -> object:
        """Do it, unless it is the first commit."""
        if statement == "COMMIT" and not self._failed:
            self._failed = True
            raise apsw.IOError("disk I/O error")
        return self._real.execute(statement, *values)  # type: ignore[arg-type]


async def test_a_broken_disk_ends_the_file(tmp_path: Path) -> None:
    """After a commit that failed while writing nobody is told of success, until the file is opened anew."""
    path = tmp_path / "lifebook.db"
    run = new_run()
    async with opened(path, Hand()) as once_more:
        file = once_more()
        file._connection = _FailingDisk(file._connection)  # type: ignore[assignment]
        store = SqliteRuns(file)
        with pytest.raises(Unavailable) as refusal:
            await store.create(run, opening=1000)
        assert refusal.value.code == "LIFEBOOK_UNAVAILABLE"
        for ask in (store.create(run, opening=1000), store.get(run.job_id)):
            with pytest.raises(Broken, match="start this process again"):
                await ask
        again = SqliteRuns(once_more())
        assert await again.get(run.job_id) is None
        assert (await again.create(run, opening=1000)).fresh


async def test_a_closed_file_says_so(tmp_path: Path) -> None:
    """What was asked before is finished, what is asked after is refused; closing twice is no error."""
    file = LifebookFile(str(tmp_path / "lifebook.db"), clock=Hand())
    store, run = SqliteRuns(file), new_run()
    asked = asyncio.create_task(store.create(run, opening=1000))
    await asyncio.sleep(0)
    await file.close()
    await file.close()
    assert (await asked).fresh
    with pytest.raises(Unavailable):
        await store.get(run.job_id)
    with pytest.raises(Unavailable):
        await new_queue(file).receive(1, wait_seconds=0, hidden_seconds=1)
