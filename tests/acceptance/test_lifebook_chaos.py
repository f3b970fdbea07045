"""Many runs while their workers are killed: none lost, none done twice, every credit accounted for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from lucius.lifebook.adapters.aws.names import Names
from lucius.lifebook.core.events import CANCELED, COMPLETED
from lucius.lifebook.core.states import Status
from lucius.runtime.building.lifebook import Lifebook, open_lifebook
from lucius.runtime.building.lifebook_backends import EVENTS, FILE
from lucius.runtime.settings import Settings
from lucius.testing.lifebook.runs import new_run
from lucius.testing.ministack import ministack
from tests.acceptance.lifebook_aws import audit, cloud
from tests.acceptance.lifebook_chaos import AT_ONCE, Told, chaos, check_ends, executions_again
from tests.acceptance.lifebook_processes import FLOWS, LEASE, Workers, until

PROOF = {"runs": 5_000, "rounds": 100, "seed": 5}


@asynccontextmanager
async def on_a_file(directory: Path) -> AsyncIterator[tuple[Lifebook, Workers]]:
    """The embedded backend, shared with worker processes."""
    data = directory / "data"
    data.mkdir(mode=0o700)
    settings = Settings(
        data=data,
        lifebook_workflows=FLOWS,
        lifebook_lease_seconds=LEASE,
        lifebook_concurrency=0,
        lifebook_opening_credits=10**6,
    )
    lifebook = await open_lifebook(settings)
    assert lifebook is not None
    environment = {"LUCIUS_DATA": str(data), "LUCIUS_LIFEBOOK_CONCURRENCY": str(AT_ONCE)}
    try:
        with Workers(directory, environment) as workers:
            yield lifebook, workers
    finally:
        await lifebook.backend.close()


async def _survive(directory: Path, *, runs: int, rounds: int, seed: int) -> Told:
    async with on_a_file(directory) as (lifebook, workers):
        told = await chaos(lifebook.desk, workers, runs=runs, rounds=rounds, seed=seed)
        await check_ends(lifebook.desk, told)

        async def quiet() -> bool:
            depth = await lifebook.backend.queue.depth()
            return depth.visible + depth.hidden == 0

        await until(quiet, "an empty queue")
    data = directory / "data"
    _check_events([*_journal(data / EVENTS), *_column(data / FILE, "SELECT body FROM events")], told)
    _check_letters(data / FILE, told)
    return told


def _journal(path: Path) -> list[dict[str, Any]]:
    """What was told; half a line is of one who was killed, and was told again."""
    found = []
    for line in path.read_bytes().splitlines():
        with suppress(msgspec.DecodeError):
            found.append(msgspec.json.decode(line))
    return found


def _column(file: Path, query: str) -> list[dict[str, Any]]:
    """Records in the file, as anybody reads them."""
    with closing(apsw.Connection(str(file))) as connection:
        rows: list[Any] = connection.execute(query).fetchall()
    return [msgspec.json.decode(body) for (body,) in rows]


def _check_events(events: list[dict[str, Any]], told: Told) -> None:
    """Each run has one event, told or still to be told (one who was killed had claimed it), or both."""
    once = {(event["job_id"], event["event_id"], event["name"], event["status"]) for event in events}
    names = {Status.CANCELED: CANCELED}
    wanted = {(run.job_id, names.get(run.status, COMPLETED), run.status.value) for run in told.runs.values()}
    assert once == {(job_id, f"{job_id}:{name}", name, status) for job_id, name, status in wanted}


def _check_letters(file: Path, told: Told) -> None:
    """Dead letters are of dead runs, and each dead run has one; more than one is cleared in time."""
    letters = _column(file, "SELECT body FROM messages WHERE queue = 'dead'")
    assert {letter["job_id"] for letter in letters} == _dead(told)
    assert {run["job_id"] for run in _column(file, "SELECT body FROM runs")} == told.runs.keys()


def _dead(told: Told) -> set[str]:
    return {job_id for job_id, run in told.runs.items() if run.status is Status.DEAD}


async def test_runs_survive_workers_that_are_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten kills amid 300 runs: each ends once, as it should, and no step that was done is done again."""
    told = await _survive(tmp_path, runs=300, rounds=10, seed=3)
    with capsys.disabled():
        told.report("sqlite")


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("1 1 7 began, 1 1 7 done, 2 1 7 began, 1 2 8 began", "went from"),
        ("1 1 7 began, 3 1 7 began", "went from"),
        ("2 1 7 began", "began with step 2"),
        ("1 1 8 began, 1 2 9 began", "nothing happened to"),
    ],
    ids=["a done step again", "a step left out", "a first step left out", "again for no reason"],
)
def test_what_must_not_be_is_seen(tmp_path: Path, written: str, wrong: str) -> None:
    """A diary that breaks a promise is found out, also where some worker (here 7) was killed."""
    workers = Workers(tmp_path, {})
    workers.killed.add(7)
    workers.log.touch()
    workers.diary.write_text("".join(f"job {line}\n" for line in written.split(", ")))
    with pytest.raises(AssertionError, match=wrong):
        executions_again(workers, {"job": new_run()})


@pytest.mark.proof
async def test_5_000_runs_survive_100_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same at length."""
    told = await _survive(tmp_path, **PROOF)
    with capsys.disabled():
        told.report("sqlite")


@pytest.mark.proof
async def test_5_000_runs_survive_100_kills_on_aws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same at length, on DynamoDB and SQS."""
    names = Names(table="chaos", queue="chaos-queue", dead_letters="chaos-dlq")
    with ministack() as aws:
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        more = {"LUCIUS_LIFEBOOK_CONCURRENCY": str(AT_ONCE), "LUCIUS_LIFEBOOK_SWEEP_SECONDS": "2"}
        async with cloud(aws, names, tmp_path, **more) as here:
            await here.provision()
            told = await chaos(here.desk, here.workers, **PROOF)
            await check_ends(here.desk, told)
            await here.empties(names.queue)
            assert here.count(names.dead_letters) >= len(_dead(told))
            letters = await here.desk.dead_letters.list(1_000)
            assert {letter.run.job_id for letter in letters if letter.run} <= _dead(told)
            assert audit(aws, names.table) == []
    with capsys.disabled():
        told.report("aws")
