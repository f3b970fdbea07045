from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from lucius.core import commands as cmd
from lucius.core.decide import Chance, decide
from lucius.engines.temporal import telling, workflow
from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.engines.temporal.desk import InvokerDesk
from lucius.ports.ledger import Judge
from lucius.testing.temporal import TemporalServer
from tests.engines.dual_run import DiffersError, DualRun
from tests.engines.dual_world import hurry

PROGRAMS = 25
MANY = 1_000
ACTIONS = 25
ABREAST = 3
"""Programs played at the same time: each waits for Temporal most of the time."""
LONGEST = 240.0
"""Seconds after which a program counts as stuck; it takes one or two."""
REPLAY = "LUCIUS_DUAL_SEED={} python -m pytest tests/engines/test_dual_run.py -k all_go_the_same_way"
TELLING = 4
"""A short program that meets every planted bug: lost start, failure, results of several steps."""
Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def _in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def seeds(first: int, number: int) -> Iterable[int]:
    """These, or the one that is asked for."""
    asked = os.environ.get("LUCIUS_DUAL_SEED")
    return [int(asked)] if asked else range(first, first + number)


async def play(programs: Iterable[int], directory: Path, server: TemporalServer) -> None:
    """All of them, some at a time, up to the first that fails: it is told with the line that repeats it."""
    client = await connect(Whereabouts(address=server.address), lazy=False)
    waiting = iter(programs)
    failed: list[Exception] = []

    async def player() -> None:
        for seed in waiting:
            if failed:
                return
            try:
                async with asyncio.timeout(LONGEST):
                    await DualRun(seed, directory, client).play(ACTIONS)
            except Exception as error:  # noqa: BLE001  whatever it is, others may stop first
                error.add_note(f"Again: {REPLAY.format(seed)}")
                failed.append(error)

    await asyncio.gather(*(player() for _ in range(ABREAST)))
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise ExceptionGroup("several programs went two ways", failed)


async def test_all_go_the_same_way(tmp_path: Path, temporal: TemporalServer) -> None:
    """The same commands, faults and replies leave the same ledgers, and workflows that agree with them."""
    await play(seeds(0, PROGRAMS), tmp_path, temporal)


@pytest.mark.proof
async def test_very_many_go_the_same_way(tmp_path: Path, temporal: TemporalServer) -> None:
    """The same with programs that no other run has played."""
    await play(seeds(PROGRAMS, int(os.environ.get("LUCIUS_PROGRAMS", MANY))), tmp_path, temporal)


def forgets_results(patch: pytest.MonkeyPatch) -> None:
    """The desk judges results and tells nobody."""
    told = telling._of_reply
    patch.setattr(
        telling,
        "_of_reply",
        lambda reply, *more: None if isinstance(reply, cmd.Result) else told(reply, *more),
    )


def draws_leases(patch: pytest.MonkeyPatch) -> None:
    """The desk starts the next step itself."""
    numbers = iter(range(10_000))

    def judging(desk: InvokerDesk, command: cmd.Command, spread: float) -> Judge:
        chance = Chance(lease_id=f"desk{next(numbers)}", spread=spread)
        return lambda job, _: desk._change(job, decide(job, command, desk._clock(), chance))

    patch.setattr(InvokerDesk, "_judging", judging)


def ends_well(patch: pytest.MonkeyPatch) -> None:
    """The workflow of a failed job completes."""

    async def end(run: workflow.JobWorkflow) -> object:
        return run._pilot.outcome()

    patch.setattr(workflow.JobWorkflow, "_end", end)


@pytest.mark.parametrize("plant", [forgets_results, draws_leases, ends_well])
async def test_a_planted_bug_is_a_difference(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporal: TemporalServer
) -> None:
    """The dual run can fail: an engine with one thing wrong does not go the same way."""
    plant(monkeypatch)
    with pytest.raises(DiffersError):
        await play([TELLING], tmp_path, temporal)
