"""A run as everybody may see it, and why it stands where it stands."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from lucius.entrypoints.api.lifebook.shapes import LifebookItem
from lucius.entrypoints.api.lifebook.showing import credits_shown, letter_view, run_view
from lucius.entrypoints.api.lifebook.why import why
from lucius.lifebook.core import commands as cmd
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.duties.dead_letters import DeadLetter
from lucius.lifebook.item import item_of
from lucius.lifebook.ports.queue import Delivery
from lucius.testing.lifebook.runs import NOW, canceled, decided, new_run, step_done, taken

SECRET = "hunter2"  # to be found nowhere
TOKEN = "lock-token-of-a-worker"  # to be found nowhere


def at_every_turn() -> dict[str, Run]:
    """A run in every status, and in the turns that have words of their own."""
    pending = new_run(costs=(150, 200, 300))
    queued = decided(pending, cmd.Sent()).run
    running = taken(queued, TOKEN).run
    second = step_done(running, artifact=f"s3://bucket/a?sig={SECRET}").run
    failure = cmd.Fail(token=TOKEN, code="STEP_FAILED", message=f"password={SECRET}", spread=0.5)
    completed = second
    while not completed.terminal:
        completed = step_done(completed).run
    return {
        "pending": pending,
        "queued": queued,
        "running": second,
        "handed on": decided(second, cmd.HandOn(token=TOKEN)).run,
        "failed": decided(second, failure).run,
        "dead": decided(second, msgspec.structs.replace(failure, poison=True)).run,
        "canceled": canceled(second).run,
        "buried": decided(queued, cmd.Bury(receives=8)).run,
        "completed": completed,
    }


TURNS = at_every_turn()
SAID = {
    "pending": ("not known to be in the queue", "sends another message after 2026-"),
    "queued": ("waits in the queue", "begin with step 1 of 3 (step-1)"),
    "running": ("worker-1 runs step 2 of 3 (step-2)", "attempt 1 of 5", "holds the run until 2026-"),
    "handed on": ("stopped or ran out of time", "goes on with step 2 of 3 (step-2)", "attempt 1 of 5"),
    "failed": ("Attempt 1 of 5 failed in step 2 of 3 (step-2) with STEP_FAILED", "at 2026-"),
    "dead": ("failed for good in step 2 of 3 (step-2)", "dead letters", "stays until 2026-"),
    "canceled": ("canceled before step 2 of 3 (step-2)", "1.50 of 6.50 credits", "stays until 2026-"),
    "buried": ("failed for good", "RECEIVES_EXHAUSTED: its message was received 8 times"),
    "completed": ("All 3 steps are done, for 6.50 of 6.50 credits", "stays until 2026-"),
}
STEPS = {
    "pending": ["waiting", "waiting", "waiting"],
    "queued": ["waiting", "waiting", "waiting"],
    "running": ["done", "running", "waiting"],
    "handed on": ["done", "waiting", "waiting"],
    "failed": ["done", "failed", "waiting"],
    "dead": ["done", "failed", "skipped"],
    "canceled": ["done", "skipped", "skipped"],
    "buried": ["skipped", "skipped", "skipped"],
    "completed": ["done", "done", "done"],
}


def shown(run: Run) -> dict[str, Any]:
    """A run as it goes over the wire."""
    return dict(msgspec.json.decode(msgspec.json.encode(run_view(run, run.updated_at))))


def test_no_status_is_without_its_words() -> None:
    """Every status of the contract is among the runs that are tested here."""
    assert {run.status for run in TURNS.values()} == set(Status)


@pytest.mark.parametrize("turn", TURNS)
def test_a_run_is_shown_by_the_contracts_names(turn: str) -> None:
    """Every field of the item is shown under its name with its value; what the item lacks is null."""
    run = TURNS[turn]
    item, view = item_of(run), shown(run)
    for name in set(LifebookItem.__struct_fields__) - {"last_error_message"}:
        assert (name in item) == (view[name] is not None), name
        value = item.get(name)
        assert view[name] == (float(value) if isinstance(value, Decimal) else value), name


@pytest.mark.parametrize("turn", TURNS)
def test_a_run_says_why_it_stands_where_it_stands(turn: str) -> None:
    """The sentence names what happened, where, and what happens next; the steps agree with it."""
    view = shown(TURNS[turn])
    assert [said for said in SAID[turn] if said not in view["why"]] == []
    assert [step["state"] for step in view["steps"]] == STEPS[turn]
    assert view["why"].endswith(".")


@pytest.mark.parametrize("turn", TURNS)
def test_nobody_is_shown_a_lock_token_or_a_secret(turn: str) -> None:
    """Tokens of locks stay inside, and secrets in errors, references and inputs are masked."""
    run = msgspec.structs.replace(TURNS[turn], input={"password": SECRET, "url": f"https://u:{SECRET}@h/x"})
    text = msgspec.json.encode(run_view(run, NOW)).decode()
    assert TOKEN not in text
    assert SECRET not in text
    assert run.fingerprint not in text


def test_a_silent_worker_is_called_silent() -> None:
    """Once the lock has run out, the sentence says that another worker takes the step."""
    run = TURNS["running"]
    assert run.lock is not None
    assert "no sign of life in step 2 of 3" in why(run, run.lock.expires_at)
    assert "no sign of life" not in why(run, run.lock.expires_at - 1)


def test_a_run_of_somebody_elses_making_without_steps_is_shown() -> None:
    """An item that plans no step has no step to name, and is shown all the same."""
    assert "its first step" in shown(new_run(costs=(), status=Status.QUEUED))["why"]


@pytest.mark.parametrize(
    ("hundredths", "text"),
    [(0, b"0"), (1, b"0.01"), (1250, b"12.5"), (10**12, b"10000000000"), (-5, b"-0.05")],
)
def test_credits_are_exact_numbers(hundredths: int, text: bytes) -> None:
    """Hundredths become the number that people would write."""
    assert msgspec.json.encode(credits_shown(hundredths)) == text


def test_an_unreadable_dead_letter_shows_how_it_begins() -> None:
    """Of a message that is no envelope there is its id, its counts and a redacted beginning."""
    body = f"password={SECRET} ".encode() + b"\xff" * 600
    delivery = Delivery(message_id="m-1", receipt="r", body=body, receives=8, send_no=None, sent_at=NOW)
    view = letter_view(DeadLetter(delivery=delivery, envelope=None, run=None))
    assert (view.message_id, view.receives, view.job_id, view.status) == ("m-1", 8, None, None)
    assert view.body is not None
    assert SECRET not in view.body
    assert len(view.body) == 500
