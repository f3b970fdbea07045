"""Random programs against the core. A failing one prints what repeats it."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.core.player import Player, any_protocol

VERBS = ("published", "unpublished", "ack", "heartbeat", "result", "tick", "cancel", "pause", "resume")
COMMON = ("published", "ack", "heartbeat", "result", "tick", "pause", "resume")


class JobMachine(RuleBasedStateMachine):
    """One job, any commands at any time."""

    player: Player

    @initialize(data=st.data())
    def open(self, data: st.DataObject) -> None:
        """A job of any shape."""
        self.player = Player(any_protocol(lambda options: data.draw(st.sampled_from(options))))

    @rule(verb=st.sampled_from(VERBS), data=st.data())
    def act(self, verb: str, data: st.DataObject) -> None:
        """Any command, current, stale, forged, early or late."""
        self.player.act(verb, lambda options: data.draw(st.sampled_from(options)))

    @invariant()
    def whole_life_holds(self) -> None:
        """Events give the job, directives match attempts, every promise holds."""
        assert self.player.check_all() == []

    def teardown(self) -> None:
        """Whatever happened, a fair run from here ends, and well if it may."""
        if hasattr(self, "player"):
            self.player.play_fair()
            assert self.player.check_all() == []


TestJobMachine = JobMachine.TestCase


def _program(seed: int, steps: int) -> None:
    """One random program; `seed` repeats it."""
    chance = random.Random(seed)

    def pick(options: Any) -> Any:
        return options[int(chance.random() * len(options))]

    player = Player(any_protocol(pick))
    for _ in range(steps):
        player.act(pick(VERBS + COMMON * 6), pick)
        if player.job.terminal and pick((True, False, False)):  # what is over is asked a little, then left
            _end(player)
            player = Player(any_protocol(pick))
    _end(player)


def _end(player: Player) -> None:
    assert player.check_all() == []
    player.play_fair()
    assert player.check_all() == []


def _programs(first: int, count: int, steps: int) -> None:
    for seed in range(first, first + count):
        try:
            _program(seed, steps)
        except AssertionError as error:
            error.add_note(f"repeat it with: tests.core.test_machine._program({seed}, {steps})")
            raise


def test_two_thousand_programs_of_fifty_commands() -> None:
    """No program of commands breaks a promise, and from wherever it ends a fair run finishes the job."""
    _programs(0, int(os.environ.get("LUCIUS_PROGRAMS", "2000")), 50)


@pytest.mark.proof
def test_a_hundred_thousand_programs_of_a_hundred_commands() -> None:
    """The same promises, searched for longer from a fresh start."""
    first = random.SystemRandom().randrange(2**32)
    _programs(first, int(os.environ.get("LUCIUS_PROGRAMS", "100000")), 100)
