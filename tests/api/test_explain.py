"""Explanations: one reason for every place where a job can stand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lucius.core.job import Job
from lucius.core.states import JobState
from lucius.core.timing import due_at
from lucius.usecases.explain import Queue, blocking_of, position
from lucius.usecases.explain_words import KINDS, action_of, because_of, duration
from tests.api.world import World
from tests.core.builders import ROWS

#: First letter of a row: the job's state. Second: the step's. What blocks it follows.
EXPECTED = {
    "Qp-": "not_before",
    "Qd": "waiting_for_bus",
    "Da": "waiting_for_service",
    "Da!": "waiting_for_service",
    "Dr": "waiting_for_retry",
    "Dd": "waiting_for_bus",
    "Ii": "in_progress",
    "Ii!": "in_progress",
    "Ir": "waiting_for_retry",
    "Ir*": "waiting_for_retry",
    "Id": "waiting_for_bus",
    "Id!": "waiting_for_bus",
    "Ia": "waiting_for_service",
    "Pa": "pausing",
    "Pi": "pausing",
    "Pi!": "pausing",
    "Hp-": "paused",
    "Hd": "paused",
    "Hr": "paused",
    "Hr*": "paused",
    "Ca": "cancelling",
    "Ci": "cancelling",
}
TERMINAL = set(ROWS) - set(EXPECTED)


def job_of(row: str) -> Job:
    """The job that stands where the row says."""
    return ROWS[row]().job


@pytest.mark.parametrize("row", ROWS)
def test_every_state_has_its_reason(row: str) -> None:
    """What blocks a job follows from where it stands, is named, and was so since some moment before now."""
    job = job_of(row)
    now = job.updated_at + 1
    found = blocking_of(job, now)
    assert found.kind == EXPECTED.get(row, "terminal")
    assert found.since <= now
    assert because_of(job, found.kind, now).endswith(".")
    assert action_of(found.kind)
    step = job.step(found.step_id) if found.step_id else None
    assert (step is None) == job.terminal
    if step is not None:
        assert found.attempt_no == (step.attempt.attempt_no if step.attempt else None)


def test_a_job_of_one_step_is_spoken_of_as_such() -> None:
    """One step is not "all 1 steps"."""
    job = job_of(next(row for row in TERMINAL if job_of(row).state is JobState.SUCCEEDED))
    one, two = (replace(job, steps=job.steps[:1] * count) for count in (1, 2))
    assert because_of(one, "terminal", job.updated_at) == "Its one step has succeeded."
    assert because_of(two, "terminal", job.updated_at) == "All 2 steps have succeeded."


def test_the_table_covers_every_state_and_every_kind() -> None:
    """No state is left out above, and only what waits for its driver to start it is not seen."""
    assert {job_of(row).state for row in ROWS} == set(JobState)
    assert {job_of(row).terminal for row in TERMINAL} == {True}
    assert set(KINDS) - set(EXPECTED.values()) == {"terminal", "starting", "waiting_for_workflow"}


def test_a_job_whose_start_has_come_is_starting() -> None:
    """A delayed job after its time, before its sweep, is about to start."""
    job = job_of("Qp-")
    assert blocking_of(job, due_at(job) or 0).kind == "starting"


@pytest.mark.parametrize("row", ["Qp-", "Dr", "Ir"])
def test_what_is_ready_waits_for_its_workflow(row: str) -> None:
    """Where workflows start attempts, a job whose time has come says so, since when, and what to look at."""
    job = job_of(row)
    ready = max(due_at(job) or 0, job.updated_at)
    assert blocking_of(job, ready - 1, "workflow").kind != "waiting_for_workflow"
    found = blocking_of(job, ready + 3_000, "workflow")
    assert (found.kind, found.since) == ("waiting_for_workflow", ready)
    said = because_of(job, found.kind, ready + 3_000)
    assert (
        said == f"Step {found.step_id} has been ready for 3 s; its workflow has not asked for an attempt yet."
    )
    assert "temporal worker" in action_of(found.kind)


@pytest.mark.parametrize("row", sorted(set(EXPECTED) - {"Qp-", "Dr", "Ir", "Ir*"}))
def test_what_is_under_way_waits_for_the_same_with_either_engine(row: str) -> None:
    """Workflows only start attempts: whatever else holds a job is the same."""
    job = job_of(row)
    now = job.updated_at + 1
    assert blocking_of(job, now, "workflow") == blocking_of(job, now)


def test_a_queue_that_is_not_known_here_is_not_told() -> None:
    """No place is made up for directives that wait in another process."""
    assert position(None, "acme") == Queue()


@pytest.mark.parametrize(
    ("waiting", "place", "ahead"),
    [
        ({}, 0, 0),
        ({"acme": 1}, 0, 0),
        ({"acme": 3}, 2, 0),
        ({"globex": 10_000, "acme": 1}, 1, 1),
        ({"a": 5, "acme": 2, "b": 1}, 4, 1),
    ],
)
def test_places_in_the_queue_are_fair_by_tenant(waiting: dict[str, int], place: int, ahead: int) -> None:
    """However much others have waiting, a tenant's place counts at most one of theirs for one of its own."""
    found = position(waiting, "acme")
    assert (found.position_estimate, found.ahead_of_tenant) == (place, ahead)


def test_durations_read_well() -> None:
    """Spans of time are told in their largest whole unit."""
    assert [duration(ms) for ms in (5, 1_500, 61_000, 7_200_000, 200_000_000)] == [
        "less than a second",
        "1 s",
        "1 min",
        "2 h",
        "2 d",
    ]


async def test_an_explanation_over_http_tells_the_whole_story(api: World) -> None:
    """Reason, queue, limits, next step and history come together, for a job in each phase."""
    job_id = await api.submit(tenant_id="tenant_a")
    await api.submit(tenant_id="tenant_a", idempotency_key="another")
    await api.sent(job_id)
    (lent, *_) = await api.take("OCR", max=2)
    waits = (await api.get(f"/v1/jobs/{job_id}/explain")).json()
    assert (waits["lane"], waits["topic"], waits["limits"]["tenant"]["in_use"]) == (15, "global-bus-p15", 2)
    assert waits["blocking"]["kind"] == "waiting_for_service"
    assert waits["queue"]["service_backlog"] == 0
    assert waits["next_due_at"].endswith("Z")
    own = lent["directive"]["jobId"]
    await api.say("ack", lent["directive"])
    works = (await api.get(f"/v1/jobs/{own}/explain")).json()
    assert works["blocking"] == {
        "kind": "in_progress",
        "since": works["blocking"]["since"],
        "step_id": "ocr",
        "attempt_no": 1,
    }
    failure = {"code": "UNREADABLE", "message": "token=hunter2"}
    await api.say("result", lent["directive"], status="FAILED_FINAL", error=failure)
    over = (await api.get(f"/v1/jobs/{own}/explain")).json()
    assert (over["blocking"]["kind"], over["next_due_at"]) == ("terminal", None)
    assert (over["last_error"]["code"], "UNREADABLE" in over["because"]) == ("UNREADABLE", True)
    assert over["history"][-1]["type"] == "job.failed"
