from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import apsw
import pytest

from lucius.errors import Unavailable
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import AttemptKey, Found


def _key(number: int) -> AttemptKey:
    return AttemptKey(job_id=f"job-{number}", step_id="ocr", attempt_no=1, lease_id="l")


@pytest.fixture
async def attempts(tmp_path: Path) -> AsyncIterator[SqliteAttempts]:
    """A store in a file."""
    made = SqliteAttempts(tmp_path / "attempts.db", busy_ms=20)
    yield made
    await made.close()


class Commits:
    """Counts the transactions of a store, and may hold them up or forbid them."""

    def __init__(self, attempts: SqliteAttempts) -> None:
        self.count = 0
        self.broken = False
        self.gate = threading.Event()
        self.gate.set()
        self._begun = threading.Event()
        attempts._connection.set_commit_hook(self._commit)

    async def begun(self) -> None:
        """Wait until one is being committed."""
        await asyncio.to_thread(self._begun.wait, 30)

    def _commit(self) -> bool:
        self.count += 1
        self._begun.set()
        self.gate.wait(30)
        return self.broken


@pytest.fixture
def commits(attempts: SqliteAttempts) -> Commits:
    """Counted from now on."""
    return Commits(attempts)


async def _claim(attempts: SqliteAttempts, number: int) -> Found:
    return await attempts.claim(_key(number), owner="me", until=9, now=1, directive=b"d")


async def test_calls_made_at_once_share_a_transaction(attempts: SqliteAttempts, commits: Commits) -> None:
    """Many attempts at a time do not pay for a sync to disk each, and each has its own answer."""
    found = await asyncio.gather(*(_claim(attempts, number % 40) for number in range(50)))
    assert [one.claimed for one in found] == [True] * 40 + [False] * 10
    assert commits.count == 1


async def test_calls_of_one_transaction_happen_in_their_order(attempts: SqliteAttempts) -> None:
    """A call sees what the calls before it did, and nothing of those behind it."""
    first, stands, late, _, again = await asyncio.gather(
        _claim(attempts, 1),
        attempts.finish(_key(1), owner="me", result=b"first"),
        attempts.finish(_key(1), owner="me", result=b"second"),
        attempts.told(_key(1), now=2),
        _claim(attempts, 1),
    )
    assert (first.claimed, stands, late) == (True, b"first", b"first")
    assert again == Found(claimed=False, result=b"first")


async def test_calls_made_while_a_transaction_runs_go_into_the_next(
    attempts: SqliteAttempts, commits: Commits
) -> None:
    """Nothing waits for more than the transaction that is under way."""
    commits.gate.clear()
    first = asyncio.create_task(_claim(attempts, 0))
    await commits.begun()
    rest = [asyncio.create_task(_claim(attempts, number)) for number in range(1, 30)]
    await asyncio.sleep(0)
    assert not first.done()
    commits.gate.set()
    assert all(one.claimed for one in await asyncio.gather(first, *rest))
    assert commits.count == 2


async def test_a_call_that_fails_fails_alone(attempts: SqliteAttempts) -> None:
    """What one caller gave wrong costs the others of its transaction nothing."""
    attempts._connection.execute(
        "CREATE TEMP TRIGGER broken BEFORE UPDATE ON attempts WHEN NEW.job_id = 'job-2' "
        "BEGIN SELECT raise(ABORT, 'no'); END"
    )
    await asyncio.gather(*(_claim(attempts, number) for number in range(4)))
    told = await asyncio.gather(
        *(attempts.finish(_key(number), owner="me", result=b"r%d" % number) for number in range(4)),
        attempts.claim(_key(9), owner="\ud800", until=9, now=1, directive=b"d"),
        _claim(attempts, 10),
        return_exceptions=True,
    )
    assert isinstance(told[2], Unavailable)
    assert isinstance(told[4], UnicodeEncodeError)
    assert [one for one in told if not isinstance(one, Exception)] == [
        b"r0",
        b"r1",
        b"r3",
        Found(claimed=True),
    ]
    assert (await _claim(attempts, 9)).claimed
    assert await _claim(attempts, 3) == Found(claimed=False, result=b"r3")


async def test_nobody_is_answered_whose_commit_failed(attempts: SqliteAttempts, commits: Commits) -> None:
    """A transaction that could not be made durable never happened, for all who were in it."""
    commits.broken = True
    told = await asyncio.gather(*(_claim(attempts, number) for number in range(3)), return_exceptions=True)
    assert [getattr(one, "code", one) for one in told] == ["ATTEMPTS_UNAVAILABLE"] * 3
    commits.broken = False
    assert (await _claim(attempts, 1)).claimed


async def test_all_who_wait_hear_that_the_file_is_busy(attempts: SqliteAttempts) -> None:
    """One wait for another process counts for all; each has an error of its own, and can try again."""
    other = apsw.Connection(attempts.path)
    other.execute("BEGIN IMMEDIATE")
    told = await asyncio.gather(*(_claim(attempts, number) for number in range(3)), return_exceptions=True)
    assert [getattr(one, "code", one) for one in told] == ["ATTEMPTS_BUSY"] * 3
    assert len({id(one) for one in told}) == 3
    other.execute("ROLLBACK")
    other.close()
    assert (await _claim(attempts, 1)).claimed


async def test_a_file_that_is_free_again_is_used(tmp_path: Path) -> None:
    """Another process in the middle of something delays a call and does not fail it."""
    attempts = SqliteAttempts(tmp_path / "attempts.db")
    other = apsw.Connection(attempts.path)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(_claim(attempts, 1))
    while attempts._working is None:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("ROLLBACK")
    other.close()
    assert (await waiting).claimed
    await attempts.close()


@pytest.mark.parametrize("leave", [lambda task: task.cancel(), lambda _: None], ids=["cancelled", "patient"])
async def test_closing_waits_for_calls_under_way(
    tmp_path: Path, leave: Callable[[asyncio.Task[Found]], object]
) -> None:
    """What was begun is in the file when it is closed, whether its caller still waits or not."""
    attempts = SqliteAttempts(tmp_path / "attempts.db")
    commits = Commits(attempts)
    commits.gate.clear()
    call = asyncio.create_task(_claim(attempts, 1))
    await commits.begun()
    leave(call)
    closing = asyncio.create_task(attempts.close())
    await asyncio.sleep(0)
    commits.gate.set()
    await closing
    await asyncio.wait([call])
    with pytest.raises(Unavailable, match="closed"):
        await _claim(attempts, 2)
    again = SqliteAttempts(tmp_path / "attempts.db")
    assert await _claim(again, 1) == Found(claimed=False)
    await again.close()
