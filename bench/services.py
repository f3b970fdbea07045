"""Steps a second of one service process over HTTP, against a bare loop that serves the same directives."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from bench.figures import ROUNDS, Figure, Run, compared
from bench.latency import Client, middle
from bench.processes import Server, lucius
from bench.workers import (
    ALL,
    BARE_FILE,
    BARE_NOTHING,
    FILE,
    NOTHING,
    Done,
    Worker,
    child,
    order,
    serve,
    write_config,
)

PART = "services"
STEPS = 3000
FILES = 1500
ALONE = 100
WARM = 300
BASELINE = "bare loop, no store"


def measure(run: Run) -> list[Figure]:
    """Every service in turn, round by round."""
    done: dict[Worker, list[Done]] = {worker: [] for worker in ALL}
    alone: dict[Worker, list[float]] = {worker: [] for worker in ALL}
    home = run.home.resolve()
    with ExitStack() as stack:
        server = stack.enter_context(lucius(home / "lucius", services="none", more=write_config(home)))
        pids = {worker: stack.enter_context(child(worker, server, home)) for worker in ALL}
        number = 0
        for turn in range(ROUNDS + 1):
            for worker in ALL:
                run.tell(f"round {turn} of {ROUNDS}: {worker.step_type}" if turn else "warming up")
                steps = (FILES if worker in (FILE, BARE_FILE) else STEPS) if turn else WARM
                found = serve(worker, pids[worker], server, home, first=number, steps=steps)
                number += steps
                if turn:
                    done[worker].append(found)
                    alone[worker].append(_alone(worker, server, home, number))
                    number += ALONE
    return [
        *_figures("no work", done[NOTHING], alone[NOTHING], done[BARE_NOTHING], alone[BARE_NOTHING]),
        *_figures("1 kB written", done[FILE], alone[FILE], done[BARE_FILE], alone[BARE_FILE]),
    ]


def _figures(
    name: str, ours: list[Done], ours_alone: list[float], bare: list[Done], bare_alone: list[float]
) -> list[Figure]:
    rates, bare_rates = [one.rate for one in ours], [one.rate for one in bare]
    costs, bare_costs = [one.cpu_ms for one in ours], [one.cpu_ms for one in bare]
    return [
        compared(PART, f"steps, {name}", "steps/s", rates, baseline=BASELINE, against=bare_rates),
        compared(PART, f"service CPU a step, {name}", "ms", costs, baseline=BASELINE, against=bare_costs),
        compared(
            PART, f"one step alone, {name}, p50", "ms", ours_alone, baseline=BASELINE, against=bare_alone
        ),
    ]


def _alone(worker: Worker, server: Server, home: Path, first: int) -> float:
    """One step when nothing else runs: from the first byte of the submit to its end being seen."""
    client = Client(server, order(worker, server, home), first=first)
    try:
        return middle([client.followed()[1] for _ in range(ALONE)])
    finally:
        client.close()
