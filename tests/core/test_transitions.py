from __future__ import annotations

import pytest

from lucius.core import commands as cmd
from lucius.core.decide import _RULES as RULES
from lucius.core.decide import Chance, decide
from lucius.core.promises import check_decision
from lucius.core.states import (
    JOB_STATUS,
    JOB_TRANSITIONS,
    STEP_STATUS,
    STEP_TRANSITIONS,
    TERMINAL_JOB,
    TERMINAL_STEP,
    JobState,
    StepState,
)
from tests.core.answers import JOB, STEP, VERDICT, answers
from tests.core.builders import COLUMNS, ROWS, command
from tests.core.exploration import SHAPES, explored, moves

ANSWERS = answers()


def _leaves(kind: type) -> set[type]:
    below: list[type] = kind.__subclasses__()
    return {kind} if not below else set().union(*map(_leaves, below))


def _stands(row: str) -> tuple[JobState, StepState]:
    return JOB[row[0]], STEP[row[1]]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS)
def test_every_pair_has_the_answer_the_rules_give(row: str, column: str) -> None:
    """The core answers each state × command pair as the hand-written grid says, and keeps every promise."""
    job = ROWS[row]().job
    assert (job.state, job.steps[0].state) == _stands(row)
    asked, now = command(column, job)
    decision = decide(job, asked, now, Chance(lease_id="next"))
    cell = ANSWERS[row, column]
    expected = _stands(cell[1:]) if cell[1:] else _stands(row)
    got = (decision.verdict, decision.job.state, decision.job.steps[0].state)
    assert got == (VERDICT[cell[0]], *expected)
    assert check_decision(job, decision) == []
    assert (decision.refusal is not None) == (cell[0] == "!")


def test_the_grid_has_a_row_for_every_place_a_job_can_be() -> None:
    """A state that a one-step job can reach and that the grid does not name fails here."""
    named = {_stands(row) for row in ROWS}
    reached = {
        (found.decision.job.state, found.decision.job.steps[0].state)
        for shape in ("one", "late")
        for found in explored(shape)
    }
    assert reached == named
    assert {state for state, _ in named} == set(JobState)
    assert {state for _, state in named} == set(StepState)
    assert set(ANSWERS) == {(row, column) for row in ROWS for column in COLUMNS}


def test_every_command_has_a_rule_and_a_column() -> None:
    """A new command without a rule, or without answers in the grid, fails here."""
    commands = _leaves(cmd.Command)
    assert set(RULES) == commands
    assert {type(command(column, ROWS["Ii"]().job)[0]) for column in COLUMNS} == commands


@pytest.mark.parametrize("shape", SHAPES)
def test_every_reachable_pair_keeps_the_promises(shape: str) -> None:
    """Any command in any place that can be reached is answered, and no promise breaks."""
    broken = [
        (found.before.state, found.command, breach)
        for found in explored(shape)
        for breach in check_decision(found.before, found.decision)
    ]
    assert broken[:3] == []


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_due_is_never_in_vain(shape: str) -> None:
    """A tick at the due time always does something: a job that is due for nothing would spin for ever."""
    idle = [
        found.before
        for found in explored(shape)
        if isinstance(found.command, cmd.Tick)
        and found.before.state not in {*TERMINAL_JOB, JobState.PAUSED}
        and found.command.held
        and not found.decision.events
    ]
    assert idle == []


def test_the_table_has_no_move_that_cannot_happen() -> None:
    """The table is tight: each of its moves is seen in the search, so it allows nothing by accident."""
    of_jobs, of_steps = moves()
    assert of_jobs == {(kind, *pair) for kind, pairs in JOB_TRANSITIONS.items() for pair in pairs}
    assert of_steps == {(kind, *pair) for kind, pairs in STEP_TRANSITIONS.items() for pair in pairs}


def test_nothing_leaves_a_terminal_state() -> None:
    """The table itself has no way out of the end."""
    assert not {old for pairs in JOB_TRANSITIONS.values() for old, _ in pairs} & TERMINAL_JOB
    assert not {old for pairs in STEP_TRANSITIONS.values() for old, _ in pairs} & TERMINAL_STEP


def test_the_coarse_words_are_those_of_the_specification() -> None:
    """Every state has its public status, spelled as promised."""
    assert JOB_STATUS == {
        "QUEUED": "QUEUED", "DISPATCHING": "QUEUED", "IN_PROGRESS": "IN_PROGRESS", "PAUSING": "IN_PROGRESS",
        "PAUSED": "PAUSED", "CANCELLING": "CANCELLED", "SUCCEEDED": "SUCCEEDED",
        "FAILED_FINAL": "FAILED_FINAL", "CANCELLED": "CANCELLED",
    }  # fmt: skip
    assert STEP_STATUS == {
        "PENDING": "PENDING", "DISPATCHING": "INITIATED", "AWAITING_ACK": "INITIATED",
        "IN_PROGRESS": "PROCESSING", "FAILED_RETRY": "FAILED_RETRY", "SUCCEEDED": "SUCCEEDED",
        "FAILED_FINAL": "FAILED_FINAL", "CANCELLED": "CANCELLED",
    }  # fmt: skip
