"""Runs, and workers that are killed amid them: what is done to them, and what must hold afterwards.

When a worker is killed depends on how much its steps have done, not on the clock: a slow machine has as many
kills for each run as a quick one. Two workers that take two runs each lose at most two runs a kill.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter, defaultdict
from itertools import pairwise

import msgspec

from lucius.errors import Refused
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.desk import LifebookDesk
from tests.acceptance.lifebook_flows import PRICES, STEPS
from tests.acceptance.lifebook_processes import Line, Workers, ended, request, until

FLOWS = {"steady": 80, "flaky": 10, "poison": 5, "failing": 5}
HEALTHY = frozenset({"steady", "flaky"})
WORKSPACES = ("acme", "globex", "initech")
CANCELED = 0.04
AT_ONCE = 2
"""Runs of one worker."""
LINE_BYTES = 56
LINES = 2 * STEPS
"""Of a run that nothing happens to."""


class Told(msgspec.Struct, kw_only=True):
    """What was done, and how it went."""

    runs: dict[str, Run]
    seconds: float
    kills: int
    again: Counter[str]
    """Executions beyond the first, by cause."""

    def report(self, where: str) -> None:
        """One line for people."""
        states = Counter(run.status.value for run in self.runs.values())
        sys.stdout.write(
            f"\n{where}: {len(self.runs)} runs in {self.seconds:.0f} s, {self.kills} kills, "
            f"executions beyond the first {dict(self.again)}, {dict(states)}\n"
        )


async def chaos(desk: LifebookDesk, workers: Workers, *, runs: int, rounds: int, seed: int) -> Told:
    """Create runs slice by slice, cancel some, kill a worker in each round; all, once they have ended."""
    chance = random.Random(seed)
    began = time.monotonic()
    pair = [workers.begin(), workers.begin()]
    made: list[str] = []
    for _ in range(rounds):
        before = _written(workers)
        made += await _slice(desk, chance, runs // rounds)
        goal = before + LINE_BYTES * chance.randint(0, LINES * runs // rounds)
        await until(lambda: _grown(desk, workers, goal, made), "some steps")  # noqa: B023 - awaited here
        victim = chance.randrange(len(pair))
        workers.kill(pair[victim])
        pair[victim] = workers.begin()
    over = {job_id: await ended(desk, job_id) for job_id in made}
    seconds = time.monotonic() - began
    again = executions_again(workers, over)
    return Told(runs=over, seconds=seconds, kills=len(workers.killed), again=again)


async def _slice(desk: LifebookDesk, chance: random.Random, size: int) -> list[str]:
    flows = chance.choices(list(FLOWS), weights=list(FLOWS.values()), k=size)
    asked = [request(flow, workspace_id=chance.choice(WORKSPACES)) for flow in flows]
    made = [created.run for created in await asyncio.gather(*map(desk.create.create, asked))]
    for run in made:
        if chance.random() < CANCELED:
            try:
                await desk.control.cancel(run)
            except Refused:
                continue  # it was quicker
    return [run.job_id for run in made]


def _written(workers: Workers) -> int:
    return workers.diary.stat().st_size if workers.diary.exists() else 0


async def _grown(desk: LifebookDesk, workers: Workers, goal: int, made: list[str]) -> bool:
    """Whether enough was done, or nothing more will be."""
    if _written(workers) >= goal:
        return True
    return all([(await desk.look.run(job_id)).terminal for job_id in made[-3:]])


def executions_again(workers: Workers, runs: dict[str, Run]) -> Counter[str]:
    """Executions beyond the first by cause; one without a cause, or of a step that was done, is a failure."""
    lines: dict[str, list[Line]] = defaultdict(list)
    for line in workers.lines():
        lines[line.job_id].append(line)
    let_go = {line["job_id"] for line in workers.said() if line.get("event") == "run let go"}
    causes: Counter[str] = Counter()
    for job_id, written in lines.items():
        failed = {(line.step, line.attempt) for line in written if line.what == "failed"}
        began = [line for line in written if line.what == "began"]
        assert began[0].step == 1, f"{job_id} began with step {began[0].step}"
        for one, following in pairwise(began):
            assert following.step - one.step in {0, 1}, f"{job_id} went from {one} to {following}"
            if following.step == one.step:
                causes[_cause(workers, one, failed, let_go)] += 1
        if runs[job_id].status is Status.COMPLETED:
            assert began[-1].step == STEPS, f"{job_id} is completed after step {began[-1].step}"
    return causes


def _cause(workers: Workers, line: Line, failed: set[tuple[int, int]], let_go: set[str]) -> str:
    """Why the step was executed once more after this time."""
    if (line.step, line.attempt) in failed:
        return "failed"
    if line.process in workers.killed:
        return "killed"
    assert line.job_id in let_go, f"nothing happened to {line}, yet its step was executed again"
    return "lost"


async def check_ends(desk: LifebookDesk, told: Told) -> None:
    """Each run ended as its workflow says; every credit is where it belongs."""
    for run in told.runs.values():
        wanted = Status.COMPLETED if run.workflow_id in HEALTHY else Status.DEAD
        assert run.status in {wanted, Status.CANCELED}, f"{run.workflow_id} {run}"
        assert run.credits_spent == sum(PRICES[: run.step_cursor]), run
        assert (run.credits_reserved, run.lock, run.due_at) == (0, None, None), run
    for workspace_id in WORKSPACES:
        wallet = await desk.look.wallet(workspace_id)
        spent = sum(run.credits_spent for run in told.runs.values() if run.workspace_id == workspace_id)
        assert (wallet.reserved, wallet.spent) == (0, spent), wallet
        assert wallet.deposited == wallet.available + wallet.spent, wallet
