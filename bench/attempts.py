"""The store of attempts alone: 64 tasks that claim, finish and tell, against a bare loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import ROUNDS, Figure, Run, compared
from lucius.sdk.attempts.file import open_file
from lucius.sdk.attempts.sqlite import _CLAIM, _FINISH, _TOLD, SqliteAttempts
from lucius.sdk.serving.ports import AttemptKey

PART = "attempts"
TASKS = 64
EACH = 40
DIRECTIVE, RESULT = b"d" * 1400, b"r" * 400
BASELINE = "bare SQLite, same rows in batches"


def measure(run: Run) -> list[Figure]:
    """Both in turn, with many tasks and with one."""
    found: dict[str, list[float]] = {"ours": [], "bare": [], "ours alone": [], "bare alone": []}
    for turn in range(ROUNDS + 1):
        run.tell(f"round {turn} of {ROUNDS}: {TASKS * EACH} attempts" if turn else "warming up")
        kinds: dict[str, Callable[[Path], float]] = {
            "bare": lambda path: bare(path, TASKS, EACH),
            "ours": lambda path: asyncio.run(ours(path, TASKS, EACH)),
            "bare alone": lambda path: bare(path, 1, EACH * 8),
            "ours alone": lambda path: asyncio.run(ours(path, 1, EACH * 8)),
        }
        for kind, measured in kinds.items():
            rate = measured(run.home / f"{kind.replace(' ', '-')}-{turn}.db")
            if turn:
                found[kind].append(rate)
    return [
        compared(
            PART, f"claim, finish, told; {TASKS} at once", "rounds/s", found["ours"], baseline=BASELINE,
            against=found["bare"],
        ),
        compared(
            PART, "claim, finish, told; one alone", "rounds/s", found["ours alone"],
            baseline="bare SQLite, same rows", against=found["bare alone"],
        ),
    ]  # fmt: skip


async def ours(path: Path, tasks: int, each: int) -> float:
    """Rounds a second through the store."""
    attempts = SqliteAttempts(path)

    async def work(task: int) -> None:
        for number in range(each):
            key = _key(task, number)
            await attempts.claim(key, owner="bench", until=2**40, now=1, directive=DIRECTIVE)
            await attempts.finish(key, owner="bench", result=RESULT)
            await attempts.told(key, now=2)

    began = time.perf_counter()
    await asyncio.gather(*(work(task) for task in range(tasks)))
    seconds = time.perf_counter() - began
    await attempts.close()
    return tasks * each / seconds


def bare(path: Path, tasks: int, each: int) -> float:
    """The same statements and commits that cannot be avoided: three for every `tasks` attempts."""
    connection = open_file(str(path))
    began = time.perf_counter()
    for number in range(each):
        keys = [_key(task, number) for task in range(tasks)]
        names = [(key.job_id, key.step_id, key.attempt_no, key.lease_id) for key in keys]
        for statement, rows in (
            (_CLAIM, [(*name, "bench", 2**40, 1, DIRECTIVE) for name in names]),
            (_FINISH, [(RESULT, *name) for name in names]),
            (_TOLD, [(2, *name) for name in names]),
        ):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(statement, rows)
            connection.execute("COMMIT")
    seconds = time.perf_counter() - began
    connection.close()
    return tasks * each / seconds


def _key(task: int, number: int) -> AttemptKey:
    return AttemptKey(
        job_id=f"0198a7f0-0000-7000-8000-{task:04d}{number:08d}", step_id="work", attempt_no=1, lease_id="l1"
    )
