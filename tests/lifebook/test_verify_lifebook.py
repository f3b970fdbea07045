"""`verify` on a lifebook file: nothing on a sound one, a sentence with what to do on each kind of damage."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from lucius.errors import Unavailable
from lucius.lifebook.adapters.journal import JournalAnalytics
from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteRuns
from lucius.lifebook.adapters.sqlite.verify import LifebookReport, verify
from lucius.lifebook.core import commands as cmd
from lucius.lifebook.core.run import Run, envelope_of
from lucius.testing.lifebook.runs import NOW, canceled, decided, new_run, step_done, taken
from tests.lifebook.sqlite_lifebook import new_queue

OPENING = 10_000
HOUR = 3_600_000


class Life:
    """Runs of every kind in one file."""

    def __init__(self, file: LifebookFile) -> None:
        self.store = SqliteRuns(file)
        self.queue = new_queue(file)

    async def made(
        self, commands: Callable[[Run], list[cmd.AnyCommand]] = lambda _run: [], **more: Any
    ) -> Run:
        """A run in the queue, taken through commands."""
        run = new_run(**more)
        await self.store.create(run, opening=OPENING)
        await self.queue.send(envelope_of(run), send_no=run.sends)
        for command in [cmd.Sent(), *commands(run)]:
            answer = decided(run, command)
            await self.store.commit(run, answer)
            run = answer.run
        return run

    async def completed(self, **more: Any) -> Run:
        """A run that did all its steps."""
        run = await self.made(**more)
        answer = taken(run)
        while True:
            await self.store.commit(run, answer)
            run = answer.run
            if run.terminal:
                return run
            answer = step_done(run)


@asynccontextmanager
async def life(path: Path) -> AsyncIterator[Life]:
    """A file with a run in every status; closed afterwards."""
    file = LifebookFile(str(path), clock=lambda: NOW)
    here = Life(file)
    try:
        await here.store.create(new_run(), opening=OPENING)  # pending, without a message
        await here.made()
        await here.made(lambda _: [cmd.Acquire(owner="w", token="t")], job_id=RUNNING)
        fail = cmd.Fail(token="t", code="X", message="x", spread=0.5)
        await here.made(lambda _: [cmd.Acquire(owner="w", token="t"), fail])
        await here.made(lambda _: [cmd.Bury(receives=8)], workspace_id="globex")
        cancelled = await here.made()
        await here.store.commit(cancelled, canceled(cancelled))
        await here.completed(job_id=DONE)
        [lent] = await here.queue.receive(1, wait_seconds=0, hidden_seconds=60)
        await here.queue.hide(lent, 5)
        await here.store.deposit("acme", 500, deposit_id="d1")
        yield here
    finally:
        await file.close()


RUNNING = "00000000-0000-4000-8000-00000000000a"
DONE = "00000000-0000-4000-8000-00000000000b"


@pytest.fixture
async def sound(tmp_path: Path) -> Path:
    """A stopped file with runs of every kind."""
    async with life(tmp_path / "lifebook.db"):
        pass
    return tmp_path / "lifebook.db"


def damaged(sound: Path, *statements: str) -> LifebookReport:
    """What is said of a copy to which this was done."""
    copy = sound.parent / "copy.db"
    shutil.copy(sound, copy)
    connection = apsw.Connection(str(copy))
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        connection.execute(statement)
        assert connection.changes(), f"nothing was damaged: {statement}"
    connection.close()
    return verify(copy)


def record(path: Path, job_id: str) -> Run:
    """A run as the file has it."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    [(body,)] = connection.execute("SELECT body FROM runs WHERE job_id = ?", (job_id,))
    connection.close()
    return msgspec.json.decode(body, type=Run)


def rewritten(run: Run, **changes: Any) -> str:
    """The statement that puts other values into a record, and into its columns."""
    body = msgspec.json.encode(msgspec.structs.replace(run, **changes)).hex()
    columns = {"due_at", "status", "ttl_at", "version"} & changes.keys()
    told = "".join(
        f", {name} = {'NULL' if changes[name] is None else repr(changes[name])}" for name in columns
    )
    return f"UPDATE runs SET body = x'{body}'{told} WHERE job_id = '{run.job_id}'"


async def test_a_sound_file_is_said_to_be_sound_also_while_it_is_used(tmp_path: Path) -> None:
    """Runs in every status break no promise, neither in a file that is open elsewhere nor in a closed one."""
    path = tmp_path / "lifebook.db"
    async with life(path):
        live = verify(path)
    assert live.findings == ()
    assert (live.ok, live.runs, live.messages, live.untold) == (True, 7, 6, 3)
    assert verify(path) == live


WALLET = "UPDATE wallets SET {} WHERE workspace_id = 'acme'"
EVENT = (
    "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '{}', '{}') AS BLOB)"
    f" WHERE event_id LIKE '{DONE}%'"
)
DAMAGES = {
    "credits that came from nowhere": (
        WALLET.format("available = available + 1"),
        "WALLET",
        "deposited; keep",
    ),
    "held for nobody": (
        WALLET.format("reserved = reserved + 7, available = available - 7"),
        "WALLET",
        "holds 24.07, its open runs reserve 24",
    ),
    "spent less than runs spent": (
        WALLET.format("spent = spent - 1, available = available + 1"),
        "WALLET",
        "says 5.99 are spent, its runs spent 6",
    ),
    "no wallet": ("DELETE FROM wallets WHERE workspace_id = 'globex'", "WALLET", "of globex is missing"),
    "deposits that did not come in": ("UPDATE deposits SET amount = 99999999", "WALLET", "its deposits are"),
    "an event too many": (
        EVENT.format(DONE, RUNNING),
        "EVENT",
        "is open, and analytics will hear of its end; keep",
    ),
    "an event that lies": (
        EVENT.format("true", "false"),
        "EVENT",
        "is not what its record says; keep",
    ),
    "nothing will wake it": (
        f"UPDATE runs SET due_at = NULL WHERE job_id = '{RUNNING}'",
        "WAKE",
        "cancel the run: nothing may wake it",
    ),
    "a key that is another's": (
        f"UPDATE runs SET unique_id = 'idem#acme#0' WHERE job_id = '{RUNNING}'",
        "KEY",
        "its row has unique_id idem#acme#0",
    ),
    "a column that lies": (
        f"UPDATE runs SET version = 99 WHERE job_id = '{DONE}'",
        "RUN",
        "its row has version 99",
    ),
    "half a record": (
        f"UPDATE runs SET body = x'7b22' WHERE job_id = '{DONE}'",
        "RUN",
        "restore it from a backup",
    ),
    "a count that lies": (
        "UPDATE lanes SET ready = ready - 1 WHERE workspace_id = 'acme'",
        "QUEUE",
        "some may never be lent; stop all",
    ),
    "a message from the future": ("UPDATE messages SET send_no = 5", "QUEUE", "is number 5; keep"),
    "a message in another's lane": (
        "UPDATE messages SET workspace_id = 'globex' WHERE workspace_id = 'acme'",
        "QUEUE",
        "is served as one of globex; keep",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
async def test_damage_is_told_in_a_sentence_with_what_to_do(sound: Path, name: str) -> None:
    """Whatever is wrong in the rows is found, named by its promise, and followed by what to do."""
    statement, promise, told = DAMAGES[name]
    report = damaged(sound, statement)
    assert not report.ok
    assert any(one.promise == promise and told in one.what for one in report.findings), report.findings


PROMISES: dict[str, tuple[dict[str, Any], str]] = {
    "lock": ({"lock": None}, "has a lock if and only if it is running"),
    "cursor": ({"step_cursor": 3}, "is past its last step if and only if it completed"),
    "attempts": ({"attempts": 9}, "has attempts from 0 to max_attempts"),
    "spent": ({"credits_spent": 5}, "has spent no more than its finished steps cost"),
    "ttl": ({"ttl_at": 1}, "has ttl_at if and only if it has ended"),
    "due": ({"due_at": None}, "is due some day if and only if it is open"),
    "reserved": ({"credits_reserved": 1}, "reserves its estimate while it is open"),
    "status": ({"status": "queued"}, "has a lock if and only if it is running"),
}


@pytest.mark.parametrize("name", PROMISES)
async def test_a_record_that_no_decision_made_is_told(sound: Path, name: str) -> None:
    """Cursor, status, lock, ttl, credits that do not fit each other are told with the command that helps."""
    changes, told = PROMISES[name]
    report = damaged(sound, rewritten(record(sound, RUNNING), **changes))
    found = [one.what for one in report.findings if one.promise == "RUN" and one.job_id == RUNNING]
    assert any(told in what for what in found), report.findings
    assert all(f"lucius lifebook cancel {RUNNING}" in what for what in found)


async def test_one_key_for_two_runs_is_told(sound: Path) -> None:
    """If the index that keeps keys apart is gone, runs that share one are found."""
    unique, free = "unique_id TEXT NOT NULL UNIQUE", "unique_id TEXT"
    statements = (
        f"UPDATE sqlite_schema SET sql = replace(sql, '{unique}', '{free}') WHERE name = 'runs'",
        "DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_runs_2'",
    )
    copy = sound.parent / "keys.db"
    shutil.copy(sound, copy)
    connection = apsw.Connection(str(copy))
    connection.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        connection.execute(statement)
    connection.close()
    connection = apsw.Connection(str(copy))
    connection.execute("UPDATE runs SET unique_id = 'idem#acme#0' WHERE workspace_id = 'acme'")
    connection.close()
    assert any(one.promise == "KEY" and "6 runs share" in one.what for one in verify(copy).findings)


async def test_an_end_that_nobody_was_told_is_found_beside_the_journal(tmp_path: Path) -> None:
    """A run whose event is neither in the outbox nor in the journal is told; one that was told is not."""
    path, journal = tmp_path / "lifebook.db", tmp_path / "events.jsonl"
    async with life(path) as here:
        first = await here.completed()
        lost = await here.completed(created_at=NOW + HOUR)
        for event in await here.store.untold(100):
            if event.job_id != lost.job_id:
                await JournalAnalytics(journal).tell(event)
            await here.store.told(event, NOW)
    journal.write_bytes(journal.read_bytes() + b'{"event_id": "half a li')
    report = verify(path, journal=journal)
    assert [(one.promise, one.job_id) for one in report.findings] == [("EVENT", lost.job_id)]
    assert "tell analytics by hand" in report.findings[0].what
    assert first.job_id != lost.job_id
    assert verify(path).ok, "a told event leaves the file: without the journal nothing can be missed"


async def test_forgotten_runs_may_have_spent_more_than_the_stored_ones_tell(sound: Path) -> None:
    """What a forgotten run spent stays in the wallet: that is no damage, and its events need no run."""
    assert damaged(sound, f"DELETE FROM runs WHERE job_id = '{DONE}'").ok


async def test_what_is_no_lifebook_file_is_refused(tmp_path: Path) -> None:
    """A missing file, another kind of file, and one of a newer Lucius each get their sentence."""
    (tmp_path / "text").write_text("not a database, but long enough to be looked at" * 50)
    apsw.Connection(str(tmp_path / "newer")).execute("PRAGMA user_version = 99")
    for name, code in (("none", "UNREADABLE"), ("text", "UNREADABLE"), ("newer", "TOO_NEW")):
        with pytest.raises(Unavailable) as told:
            verify(tmp_path / name)
        assert told.value.code == f"LIFEBOOK_{code}"


async def test_a_torn_page_is_told(sound: Path) -> None:
    """Bytes that no SQLite wrote are told as damage of the file."""
    torn = sound.parent / "torn.db"
    content = bytearray(sound.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    torn.write_bytes(content)
    report = verify(torn)
    assert not report.ok
    assert all(one.promise == "FILE" and "backup" in one.what for one in report.findings)
