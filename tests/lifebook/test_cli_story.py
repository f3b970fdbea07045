"""How a lifebook run looks and reads, without a server."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console, RenderableType

from lucius.entrypoints.cli.show import lifebook
from lucius.entrypoints.cli.show.lifebook_progress import RunProgress
from lucius.entrypoints.cli.show.lifebook_states import look, step_look
from lucius.entrypoints.cli.show.lifebook_story import RunStory
from lucius.errors import Unavailable
from lucius.lifebook.core.states import Status
from lucius.sdk.lifebook_answers import Run

NOW = 1_900_000_000_000
STEPS = ("collect", "extract", "enrich", "publish")
JOB = "7d9f6f0e-6c86-4a4e-9d0b-0d2f3f6d7a11"


def printed(renderable: RenderableType, width: int = 80) -> str:
    """What a person would read, without colour."""
    out = Console(file=io.StringIO(), width=width, color_system=None)
    out.print(renderable)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def run_at(status: str, cursor: int = 0, attempts: int = 1, **more: Any) -> Run:
    """A run of four steps."""
    states = ["done" if index < cursor else "waiting" for index in range(4)]
    if cursor < 4 and status in {"running", "failed", "dead"}:
        states[cursor] = "running" if status == "running" else "failed"
    document = {
        "job_id": JOB, "workspace_id": "acme", "workflow_id": "example-four-steps", "status": status,
        "created_at": "2030-03-17T17:46:30Z", "updated_at": "2030-03-17T17:46:32.500Z",
        "attempts": attempts, "max_attempts": 5, "step_cursor": cursor, "steps_total": 4,
        "credits_estimate": 4.5, "credits_reserved": 4.5, "credits_spent": cursor * 1.0,
        "started_at": "2030-03-17T17:46:30.100Z", "why": "Because.",
        "steps": [
            {"name": name, "state": state, "credits": 1.0} for name, state in zip(STEPS, states, strict=True)
        ],
    }  # fmt: skip
    return msgspec.convert(document | more, Run)


FAILED: dict[str, Any] = {
    "last_error_code": "BLANK", "last_error_message": "the page is blank",
    "next_attempt_at": "2030-03-17T17:46:42.500Z",
}  # fmt: skip


def told(*looks: Run) -> list[str]:
    """What a story says of these looks, one after the other."""
    story = RunStory()
    return [f"{since} {words}" for look_at in looks for since, words in story.heard(look_at)]


def test_every_status_has_a_look() -> None:
    """No status of the contract is shown as unknown."""
    assert [status for status in Status if look(status.value).glyph == "·"] == []
    assert [
        state for state in ("done", "running", "failed", "waiting", "skipped")
        if step_look(state, again=False).glyph == "·"
    ] == []  # fmt: skip


def test_a_look_that_changes_nothing_says_nothing() -> None:
    """The same run twice is told once."""
    once = run_at("running", 1)
    assert told(once) == told(once, once)


def test_a_step_that_cost_less_than_planned_is_told_with_what_it_cost() -> None:
    """The credits of a step are those it spent; of steps seen together, where that is not known, the most."""
    one = run_at("running", 1)
    assert told(one, run_at("running", 2, credits_spent=1.3))[-1].endswith("extract: done (0.30 credits)")
    assert [
        words.rpartition(": ")[2] for words in told(one, run_at("running", 3, credits_spent=1.3))[-2:]
    ] == ["done (at most 1.00 credits)"] * 2
    assert told(run_at("running", 1, credits_spent=0.2))[-1].endswith("collect: done (0.20 credits)")


def test_a_failure_and_its_resume_are_told_with_the_steps_that_stay() -> None:
    """After a failure that was seen, the next attempt names where it goes on and what is not run again."""
    said = told(run_at("running", 2), run_at("failed", 2, **FAILED), run_at("running", 2, attempts=2))
    assert said[-2].endswith("step 3 of 4, enrich: failed with BLANK: the page is blank; next try in 10.0 s")
    assert said[-1].endswith("attempt 2 of 5 goes on with step 3, enrich; collect, extract are not run again")


def test_a_failure_between_two_looks_is_told_without_guessing_where() -> None:
    """What was missed is told by what it left; the step of the next attempt is not made up."""
    said = told(run_at("running", 1), run_at("running", 3, attempts=2, **FAILED))
    assert [line.split("s ", 1)[1] for line in said[-4:]] == [
        "attempt 1 failed: BLANK: the page is blank",
        "attempt 2 of 5 is under way",
        "step 2 of 4, extract: done (1.00 credits)",
        "step 3 of 4, enrich: done (1.00 credits)",
    ]


def test_a_run_that_was_handed_on_stays_in_its_attempt() -> None:
    """A worker out of time is no failure, and the story says so."""
    assert "the run is handed on" in told(run_at("running", 2), run_at("queued", 2))[-1]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (run_at("completed", 4), "completed for 4.00 credits; 0.50 reserved credits are free again"),
        (run_at("dead", 1, **FAILED), "failed for good: BLANK: the page is blank; 3.50 reserved"),
        (run_at("canceled", 1, last_error_message="not needed"), "canceled: not needed; 3.50 reserved"),
    ],
)
def test_the_end_is_told_with_what_became_of_the_credits(run: Run, words: str) -> None:
    """Each way to end says what was given back."""
    assert words in told(run_at("running", 1), run)[-1]


def test_progress_counts_down_to_the_next_try() -> None:
    """The wait after a failure shrinks with the clock, and lines fit into 80 columns."""
    ticks = iter((0.0, 2.0, 20.0))
    now = 1_900_000_000_000 - 1000
    due = {**FAILED, "next_attempt_at": "2030-03-17T17:46:45Z", "created_at": "2030-03-17T17:46:30Z"}
    progress = RunProgress(run_at("failed", 2, **due), now=now, tick=lambda: next(ticks))
    first, later = printed(progress), printed(progress)
    assert "BLANK · again in" in first
    assert "again now" in later
    assert "2 of 4 steps · attempt 1 of 5 · 2.00 of 4.50 credits" in first
    assert max(len(line.rstrip()) for line in first.splitlines()) <= 80


def test_progress_says_why_nothing_happens() -> None:
    """A run long in the queue, a silent worker and a server that is away are explained."""
    waiting = RunProgress(run_at("queued", attempts=0), now=NOW, tick=lambda: 0.0)
    assert "Because." in printed(waiting)
    lost = run_at("running", 1, lock={"owner": "w", "expires_at": "2030-03-17T17:46:31Z"})
    silent = RunProgress(lost, now=NOW, tick=lambda: 0.0)
    assert "Because." in printed(silent)
    silent.broke(Unavailable("No Lucius answers."))
    assert "No Lucius answers. Connecting again." in printed(silent)
    silent.show(run_at("running", 1))
    assert "Connecting again" not in printed(silent)


def test_tables_fit_where_they_are_shown() -> None:
    """80 columns show ids and what matters whole; wider ones show everything."""
    runs = [{"job_id": JOB, "status": "completed", "workflow_id": "example-four-steps",
             "trigger_type": "manual",
             "credits_estimate": 4.5, "created_at": "2030-03-17T17:46:30Z"}]  # fmt: skip
    narrow, wide = printed(lifebook.listing(runs, NOW, 80)), printed(lifebook.listing(runs, NOW, 120), 120)
    assert len(narrow.splitlines()) == len(wide.splitlines()) == 3
    assert "manual" in wide
    assert "manual" not in narrow
    letters = [{"message_id": JOB, "body": "{", "sent_at": "2030-03-17T17:46:30Z"}]
    assert "unknown" in printed(lifebook.dead_letters(letters, NOW, 120), 120)
    assert len(printed(lifebook.dead_letters(letters, NOW, 80)).splitlines()) == 3
