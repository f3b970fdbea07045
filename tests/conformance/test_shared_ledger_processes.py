from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw
import pytest

from lucius.adapters.ledgers.sqlite.schema import migrate
from lucius.adapters.ledgers.sqlite.verify import verify
from lucius.testing.processes import await_that
from tests.conformance import sharer

ENOUGH = 200
#: Counts, after every row written, what the limited tenant holds; the file itself is the witness.
WITNESS = """
CREATE TABLE witness (held INTEGER NOT NULL);
CREATE TRIGGER witness_new AFTER INSERT ON jobs WHEN new.tenant_id = 'limited' BEGIN
    INSERT INTO witness SELECT count(*) FROM jobs WHERE tenant_id = 'limited' AND completed_at IS NULL;
END;
"""


class Process:
    """A sharer, and what it has been answered."""

    def __init__(self, path: Path, name: str, stack: ExitStack) -> None:
        self.log = path.with_name(f"{name}.log")
        output = stack.enter_context(self.log.open("wb"))
        command = [sys.executable, str(sharer.__file__), str(path), name]
        self.process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output))
        stack.callback(self.process.kill)

    def lines(self, *kinds: str) -> list[tuple[str, int]]:
        """(job, version) of the whole lines of these kinds."""
        whole = self.log.read_text().split("\n")[:-1]
        split = [line.split() for line in whole]
        return [(job, int(version)) for kind, job, version in split if kind in kinds]

    def go(self) -> None:
        """The next line of its input."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def answers(self, kind: str, more_than: int = 0) -> None:
        """Wait until it has heard so many answers of a kind."""

        def enough() -> bool:
            assert self.process.poll() is None, "it ended by itself"
            return len(self.lines(kind)) > more_than

        await_that(enough, f"{more_than} answers to {self.log.name}", 120)


@pytest.fixture
def witnessed(tmp_path: Path) -> Path:
    """A ledger with its witness."""
    path = tmp_path / "ledger.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    migrate(connection)
    connection.execute(WITNESS).fetchall()
    connection.close()
    return path


def _started(path: Path, names: str, stack: ExitStack) -> list[Process]:
    """Processes that open the ledger at once, and begin when all of them have."""
    processes = [Process(path, name, stack) for name in names]
    for process in processes:
        process.answers("ready")
    for process in processes:
        process.go()
    return processes


def test_three_processes_and_kills_lose_nothing(witnessed: Path) -> None:
    """Three write the same jobs, some are killed: no answer is lost, no limit passed, the file sound."""
    with ExitStack() as stack:
        everybody = _started(witnessed, "ABC", stack)
        for name in ("D", ""):
            killed = everybody[-1]
            killed.answers("changed", ENOUGH)
            killed.process.kill()
            killed.process.wait()
            everybody += _started(witnessed, name, stack)
        ending = [process for process in everybody if process.process.poll() is None]
        for process in ending:
            process.answers("changed", len(process.lines("changed")) + ENOUGH)
            process.answers("full")
            process.go()
        assert [process.process.wait(120) for process in ending] == [0, 0]
    assert verify(witnessed).findings == ()
    _no_answer_is_missing(witnessed, everybody)
    storm = Counter(job for process in everybody for job, _ in process.lines("storm"))
    assert list(storm.values()) == [sharer.STORM * len(everybody)]
    held = [count for (count,) in apsw.Connection(str(witnessed)).execute("SELECT held FROM witness")]
    assert max(held) == sharer.LIMIT


def _no_answer_is_missing(path: Path, everybody: list[Process]) -> None:
    """Each version of a job was answered at most once, and none is beyond what is stored."""
    answered = [line for process in everybody for line in process.lines("opened", "changed", "closed")]
    assert len(set(answered)) == len(answered)
    rows: list[Any] = apsw.Connection(str(path)).execute("SELECT job_id, version FROM jobs").fetchall()
    stored = dict(rows)
    assert [line for line in answered if stored.get(line[0], 0) < line[1]] == []


def test_three_processes_make_one_new_file(tmp_path: Path) -> None:
    """Processes that start at once on no file at all make it once, and all of them work."""
    path = tmp_path / "ledger.db"
    with ExitStack() as stack:
        processes = _started(path, "ABC", stack)
        for process in processes:
            process.answers("changed")
            process.go()
        assert [process.process.wait(120) for process in processes] == [0, 0, 0]
    assert verify(path).findings == ()
