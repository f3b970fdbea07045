"""kill -9 of every process of option B under load: nothing lost, nothing twice, and both sides agree."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from lucius.testing.temporal_processes import TEMPORAL
from tests.acceptance.option_b import Load, OptionB, proven

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RECIPE = """\
request_type: TRIAL
version: 1
steps:
  - {step_id: one, step_type: TRIAL, service: trial, ack_timeout: 10s, ack_backoff: [200ms],
     execution_backoff: [100ms], max_dispatch_attempts: 5, max_execution_attempts: 5}
  - {step_id: two, step_type: TRIAL, service: trial, ack_timeout: 10s, ack_backoff: [200ms],
     execution_backoff: [100ms], max_dispatch_attempts: 5, max_execution_attempts: 5}
"""
IN_TURN = ("worker", "invoker-1", "temporal", "api", "invoker-2", "worker invoker-1", "temporal api")
SOON = {"LUCIUS_LOCK_SECONDS": "5"}
"""What a process had borrowed from the bus when it was killed is lent again after so long."""


def kill(world: OptionB, names: list[str]) -> None:
    """End these at the same moment, and start them again."""
    for name in names:
        world.kill(name)
    for name in sorted(names, key=lambda one: one == TEMPORAL):  # the others have to wait for it
        world.start(name, ready=False)
    world.await_ready()


def kill_in_turn(directory: Path, victims: Iterable[str], steps: int) -> None:
    """A kill after every so many steps, while clients submit all the time."""
    with OptionB(directory, RECIPE, invokers=2, environment=SOON) as world:
        world.start_all()
        with Load(world) as load:
            for names in victims:
                world.progress(steps)
                assert world.ledger.open_jobs() > 0
                kill(world, names.split())
        world.settled()
        proven(world, load)


def test_jobs_survive_the_kill_of_every_process(tmp_path: Path) -> None:
    """Each process killed in turn, twice two at once: every accepted job ends as it should, and once."""
    kill_in_turn(tmp_path, IN_TURN, steps=20)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(4))
def test_jobs_survive_100_kills(tmp_path: Path, seed: int) -> None:
    """The same at length: 100 kills and thousands of jobs over four ledgers."""
    chance = random.Random(seed)
    kill_in_turn(tmp_path, [chance.choice(IN_TURN) for _ in range(25)], steps=60)
