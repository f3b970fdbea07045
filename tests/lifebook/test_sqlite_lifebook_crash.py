from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import apsw

from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteRuns
from lucius.lifebook.core.run import envelope_of
from lucius.lifebook.core.states import Status
from lucius.testing.lifebook.runs import new_run
from tests.lifebook.sqlite_lifebook import new_queue, opened
from tests.lifebook.sqlite_process import COST, now_ms

ROOT = Path(__file__).parents[2]
ROUNDS = 3
HEARD = 40
MESSAGES = 150


def _start(verb: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.lifebook.sqlite_process", verb, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _killed(path: Path) -> set[str]:
    """What a writer said it had done before it was killed in the middle of something."""
    with _start("write", path) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(HEARD)]
        process.kill()
        rest = process.stdout.read().splitlines(keepends=True)
    return set(said) | {line.strip() for line in rest if line.endswith("\n")}


async def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    """Writers are killed again and again: runs, credits and messages they were sure of are all there."""
    path = tmp_path / "lifebook.db"
    known: set[str] = set()
    for _ in range(ROUNDS):
        known |= _killed(path)
    file = LifebookFile(str(path), clock=now_ms)
    store = SqliteRuns(file)
    found = [await store.get(job_id) for job_id in sorted(known)]
    depth = await new_queue(file).depth()
    wallet = await store.wallet("acme")
    await file.close()
    assert {run.status for run in found if run is not None} == {Status.RUNNING}
    assert None not in found
    assert len(known) >= ROUNDS * HEARD
    assert depth.visible >= len(known)
    assert wallet is not None
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    [(runs,)] = connection.execute("SELECT count(*) FROM runs")
    connection.close()
    assert wallet.reserved == runs * COST


async def test_two_processes_never_hold_the_same_message(tmp_path: Path) -> None:
    """Two processes empty one queue at the same time: each message is lent to one of them, once."""
    path = tmp_path / "lifebook.db"
    async with opened(path, now_ms) as once_more:
        queue = new_queue(once_more())
        await asyncio.gather(*(queue.send(envelope_of(new_run()), send_no=1) for _ in range(MESSAGES)))
        with _start("receive", path) as first, _start("receive", path) as second:
            both = [first, second]
            for process in both:
                assert process.stdout is not None
                assert process.stdin is not None
                assert process.stdout.readline() == "ready\n"
            for process in both:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            lent = [process.stdout.read().split() for process in both if process.stdout is not None]
        assert [process.returncode for process in both] == [0, 0]
        every = lent[0] + lent[1]
        assert len(every) == len(set(every)) == MESSAGES
        assert (await queue.depth()).hidden == MESSAGES
