from __future__ import annotations

from docs.make_states import PAGE, page
from lucius.core.states import JOB_TRANSITIONS, STEP_TRANSITIONS, JobState, StepState


def test_the_page_of_states_is_the_table() -> None:
    """A table that changed without `make docs` is noticed here."""
    assert PAGE.read_text() == page()


def test_the_page_leaves_nothing_out() -> None:
    """Every state and every kind of event is on it."""
    text = page()
    for name in (*JobState, *StepState, *JOB_TRANSITIONS, *STEP_TRANSITIONS):
        assert str(name) in text
