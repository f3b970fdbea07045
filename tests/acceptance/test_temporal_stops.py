"""Processes of option B that end on purpose, stand still, or all go at once."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from lucius.testing.processes import await_that
from lucius.testing.temporal_processes import API, TEMPORAL, WORKER
from tests.acceptance.option_b import SERVICE, Load, OptionB, brief, proven
from tests.acceptance.test_temporal_kill import RECIPE, SOON

if TYPE_CHECKING:
    from pathlib import Path

FROZEN = 20.0
"""Seconds: longer than a reply is lent to an invoker, so another one has judged it meanwhile."""


pytestmark = pytest.mark.proof  # they take minutes; kills and outages are in every run


def test_every_process_drains_under_load(tmp_path: Path) -> None:
    """SIGTERM of one after the other: each ends with 0, and not one attempt is lost by it."""
    with OptionB(tmp_path, RECIPE, invokers=2, environment=SOON) as world:
        world.start_all()
        with Load(world, wish=brief) as load:
            for name in (WORKER, "invoker-1", API, SERVICE, "invoker-2"):
                world.progress()
                assert world.terminate(name) == 0, world.said()
                world.start(name)
        world.settled()
        assert world.attempts().keys() == {(1, 0, 0)}
        proven(world, load)


def test_a_power_cut_and_a_late_temporal(tmp_path: Path) -> None:
    """Everything is killed at once; the others are back, and accept jobs, long before Temporal is."""
    with OptionB(tmp_path, RECIPE, invokers=2, environment=SOON) as world:
        world.start_all()
        with Load(world) as load:
            world.progress()
            world.kill_all()
            for name in world.names:
                if name != TEMPORAL:
                    world.start(name, ready=False)
            world.api.await_ready()
            accepted = len(load.acknowledged)
            load.allow(20)  # nothing ends now
            await_that(lambda: len(load.acknowledged) >= accepted + 10, "10 jobs without Temporal")
            world.start(TEMPORAL)
            world.progress()
        world.settled()
        proven(world, load)


def test_a_frozen_invoker_does_no_harm(tmp_path: Path) -> None:
    """One of two stands still for long and goes on: what it still wants to write, the ledger refuses."""
    with OptionB(tmp_path, RECIPE, invokers=2, environment=SOON) as world:
        world.start_all()
        frozen = world.invokers[0].pid
        with Load(world) as load:
            world.progress()
            os.kill(frozen, signal.SIGSTOP)
            thaw = time.monotonic() + FROZEN
            try:
                world.progress(40)  # the other one does the work
                await_that(lambda: time.monotonic() > thaw, "the frozen one's locks to run out")
            finally:
                os.kill(frozen, signal.SIGCONT)
            world.progress()
            assert world.invokers[0].pid == frozen
        world.settled()
        proven(world, load)


@pytest.mark.parametrize("seed", range(5))
def test_many_power_cuts(tmp_path: Path, seed: int) -> None:
    """Power cuts one after the other, at any moment of the start too."""
    with OptionB(tmp_path, RECIPE, invokers=2, environment=SOON) as world:
        world.start_all()
        with Load(world) as load:
            for cut in range(10):
                world.progress((seed * 7 + cut * 3) % 25)
                world.kill_all()
                world.start_all()
        world.settled()
        proven(world, load)
