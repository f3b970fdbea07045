from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE

import apsw
import pytest

from lucius.errors import Unavailable
from lucius.sdk.attempts import file
from lucius.sdk.attempts.file import APPLICATION, VERSION
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import AttemptKey, Attempts, Found, Overdue
from lucius.testing.attempts import AttemptsHarness, AttemptsSuite


class TestSqliteAttempts(AttemptsSuite):
    """Attempts in a file, used by several connections, keep every promise of the port."""

    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[AttemptsHarness]:
        """A file of its own."""

        async def another() -> Attempts:
            return SqliteAttempts(tmp_path / "attempts.db")

        harness = AttemptsHarness(attempts=await another(), another=another)
        yield harness
        await harness.attempts.close()


CHILD = """
import asyncio, sys
from lucius.sdk.attempts.opening import open_attempts
from lucius.sdk.serving.ports import AttemptKey

async def main():
    attempts = await open_attempts(sys.argv[1])
    def key(n):
        return AttemptKey(job_id=f"job-{n}", step_id="ocr", attempt_no=1, lease_id="l")
    for n in range(3):
        await attempts.claim(key(n), owner="child", until=2000, now=1000, directive=b"directive %d" % n)
    await attempts.finish(key(1), owner="child", result=b"done")
    await attempts.finish(key(2), owner="child", result=b"done")
    await attempts.told(key(2), now=1500)
    print("ready", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


def _key(number: int) -> AttemptKey:
    return AttemptKey(job_id=f"job-{number}", step_id="ocr", attempt_no=1, lease_id="l")


async def test_a_killed_process_leaves_its_attempts(tmp_path: Path) -> None:
    """After kill -9 between claim and finish, the next process takes over what was begun or not told."""
    path = tmp_path / "attempts.db"
    with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdin=PIPE, stdout=PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.kill()
    assert child.returncode == -signal.SIGKILL
    attempts = SqliteAttempts(path)
    assert await attempts.take_overdue(owner="next", now=1999, until=3000, limit=9) == []
    assert await attempts.take_overdue(owner="next", now=2000, until=3000, limit=9) == [
        Overdue(key=_key(0), directive=b"directive 0", result=None),
        Overdue(key=_key(1), directive=b"directive 1", result=b"done"),
    ]
    found = await attempts.claim(_key(2), owner="next", until=1, now=1, directive=b"")
    assert found == Found(claimed=False, result=b"done")
    await attempts.close()


CLAIMER = """
import asyncio, sys
from lucius.sdk.attempts.opening import open_attempts
from lucius.sdk.serving.ports import AttemptKey

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    attempts = await open_attempts(sys.argv[1])
    won = 0
    for n in range(40):
        key = AttemptKey(job_id=f"job-{n}", step_id="ocr", attempt_no=1, lease_id="l")
        won += (await attempts.claim(key, owner=sys.argv[2], until=9, now=1, directive=b"d")).claimed
    taken = await attempts.take_overdue(owner=sys.argv[2], now=9, until=99, limit=7)
    print(won, len(taken), flush=True)
    await attempts.close()

asyncio.run(main())
"""


def test_processes_that_start_at_once_share_a_new_file(tmp_path: Path) -> None:
    """Three processes make the file, claim the same attempts and take over: each attempt counts once."""
    command = [sys.executable, "-c", CLAIMER, str(tmp_path / "new" / "attempts.db")]
    with ExitStack() as stack:
        children = [
            stack.enter_context(subprocess.Popen([*command, f"o{n}"], stdin=PIPE, stdout=PIPE, text=True))
            for n in range(3)
        ]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        counted = [tuple(map(int, child.communicate()[0].split())) for child in children]
    assert sum(won for won, _ in counted) == 40
    assert sum(taken for _, taken in counted) == 21


async def test_the_file_is_durable_and_its_owners_alone(tmp_path: Path) -> None:
    """Directives hold callback tokens: file and side files are private, and commits are synced."""
    path = tmp_path / "private" / "attempts.db"
    attempts = SqliteAttempts(path)
    await attempts.claim(_key(1), owner="me", until=9, now=1, directive=b"d")
    modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    assert modes == {"attempts.db": 0o600, "attempts.db-wal": 0o600, "attempts.db-shm": 0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert attempts._connection.pragma("synchronous") == 2
    assert attempts._connection.pragma("journal_mode") == "wal"
    await attempts.close()


async def test_what_was_told_no_longer_holds_its_directive(tmp_path: Path) -> None:
    """The callback token goes when nobody needs it any more."""
    attempts = SqliteAttempts(tmp_path / "attempts.db")
    await attempts.claim(_key(1), owner="me", until=9, now=1, directive=b"token")
    await attempts.told(_key(1), now=2)
    assert attempts._connection.execute("SELECT directive FROM attempts").fetchall() == [(b"",)]
    await attempts.close()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"this is a letter, not a database; " * 40, "ATTEMPTS_UNREADABLE"),
        ("CREATE TABLE other (a)", "ATTEMPTS_FOREIGN"),
        ("PRAGMA user_version = 7", "ATTEMPTS_FOREIGN"),
        (f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION + 1}", "ATTEMPTS_TOO_NEW"),
    ],
    ids=["letter", "table", "version", "newer"],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(
    tmp_path: Path, content: bytes | str, code: str
) -> None:
    """Something else at that path, or the work of a newer Lucius, is not touched."""
    path = tmp_path / "attempts.db"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        connection = apsw.Connection(str(path))
        connection.execute(content).fetchall()
        connection.close()
    before = path.read_bytes()
    with pytest.raises(Unavailable) as refusal:
        SqliteAttempts(path)
    assert refusal.value.code == code
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """A directory in the way, or a file where a directory should be."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "attempts.db"):
        with pytest.raises(Unavailable) as refusal:
            SqliteAttempts(path)
        assert refusal.value.code == "ATTEMPTS_UNREADABLE"


async def test_a_file_that_breaks_later_is_told(tmp_path: Path) -> None:
    """An error of SQLite in a call becomes ours, the transaction is undone, and the next call works."""
    attempts = SqliteAttempts(tmp_path / "attempts.db")
    attempts._connection.execute(
        "CREATE TEMP TRIGGER broken BEFORE UPDATE ON attempts BEGIN SELECT raise(ABORT, 'no'); END"
    )
    await attempts.claim(_key(1), owner="me", until=9, now=1, directive=b"d")
    with pytest.raises(Unavailable) as refusal:
        await attempts.finish(_key(1), owner="me", result=b"r")
    assert refusal.value.code == "ATTEMPTS_UNAVAILABLE"
    assert await attempts.claim(_key(1), owner="me", until=9, now=1, directive=b"d") == Found(claimed=False)
    await attempts.close()


async def test_a_file_that_another_process_holds_is_busy(tmp_path: Path) -> None:
    """Who waits too long for the file is told to try again, and can."""
    attempts = SqliteAttempts(tmp_path / "attempts.db", busy_ms=1)
    other = apsw.Connection(str(tmp_path / "attempts.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable) as refusal:
        await attempts.forget(before=1)
    assert refusal.value.code == "ATTEMPTS_BUSY"
    other.execute("ROLLBACK")
    other.close()
    assert await attempts.forget(before=1) == 0
    await attempts.close()


@pytest.mark.parametrize(("kind", "refused"), [("nfs4", True), ("ext4", False)])
def test_a_network_file_system_is_refused(tmp_path: Path, kind: str, refused: bool) -> None:
    """Where locks cannot be trusted, nothing is promised."""
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {tmp_path.resolve()} {kind} rw 0 0\n")
    codes = []
    try:
        file._refuse_network(tmp_path / "attempts.db", mounts)
    except Unavailable as error:
        codes.append(error.code)
    assert codes == (["ATTEMPTS_ON_NETWORK"] if refused else [])
