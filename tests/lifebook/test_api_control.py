"""Runs that exist: list, cancel, retry, credits, dead letters, workflows; and a Lucius without any."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lucius.security.principal import Role
from lucius.testing.lifebook.runs import canceled, new_run, taken
from tests.api.world import NO_SUCH, problem
from tests.lifebook.api_world import JOBS, LETTERS, REQUEST, WORKSPACES, RunsWorld, runs_world


@pytest.fixture
async def runs() -> AsyncIterator[RunsWorld]:
    """A Lucius that takes runs."""
    async with runs_world() as found:
        yield found


async def test_a_workspace_lists_its_runs_newest_first(runs: RunsWorld) -> None:
    """Pages of the index's projection, without a gap and without the runs of others."""
    made = [await runs.made() for _ in range(5)]
    await runs.made(workspace_id="globex")
    seen: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"limit": 2}
    while len(seen) < len(made):
        page = (await runs.api.get(f"{WORKSPACES}/Acme/jobs", **asked)).json()
        assert len(page["jobs"]) == min(2, len(made) - len(seen))
        seen += page["jobs"]
        asked |= {"cursor": page["next_cursor"]}
    assert asked["cursor"] is None
    assert sorted(one["job_id"] for one in seen) == sorted(made)
    assert [one["created_at"] for one in seen] == sorted((one["created_at"] for one in seen), reverse=True)
    whole = await runs.shown(seen[0]["job_id"])
    assert seen[0] == {name: whole[name] for name in seen[0]}
    assert set(seen[0]) == {
        "job_id", "workspace_id", "created_at", "status", "workflow_id", "trigger_type", "credits_estimate",
    }  # fmt: skip


async def test_a_cursor_that_was_not_given_out_is_refused(runs: RunsWorld) -> None:
    """Nonsense, wrong limits and unknown parameters are problems, not pages."""
    where = f"{WORKSPACES}/acme/jobs"
    nonsense = await runs.api.get(where, cursor="nonsense")
    assert nonsense.status_code in {400, 422}
    assert nonsense.headers["content-type"] == "application/problem+json"
    for wrong in ({"limit": 0}, {"limit": 201}, {"cursor": ""}, {"page": 2}):
        problem(await runs.api.get(where, **wrong), 422, "INVALID_PARAMETER")
    problem(await runs.api.get(f"{WORKSPACES}/a%20b/jobs"), 422, "INVALID_PARAMETER")


async def test_the_cursor_of_one_workspace_opens_no_other(runs: RunsWorld) -> None:
    """A cursor shows nothing of the workspace it came from when it is used for another."""
    theirs = {await runs.made(workspace_id="globex") for _ in range(3)}
    cursor = (await runs.api.get(f"{WORKSPACES}/globex/jobs", limit=1)).json()["next_cursor"]
    answer = await runs.api.get(f"{WORKSPACES}/acme/jobs", cursor=cursor)
    shown = answer.json().get("jobs", [])
    assert theirs.isdisjoint(one["job_id"] for one in shown)


async def test_a_canceled_run_stays_so_and_its_credits_are_free(runs: RunsWorld) -> None:
    """Cancel is at once, may be repeated, and says why without secrets."""
    job_id = await runs.made()
    answer = await runs.api.post(f"{JOBS}/{job_id}:cancel", {"reason": "wrong file, password=hunter2"})
    view = answer.json()
    assert (answer.status_code, view["status"], view["credits_reserved"]) == (200, "canceled", 0)
    assert (view["last_error_code"], view["last_error_message"]) == (
        "CANCELED_BY_USER",
        "wrong file, password=[redacted]",
    )
    assert "hunter2" not in repr(await runs.stored(job_id))
    again = await runs.api.post(f"{JOBS}/{job_id}:cancel")
    assert (again.status_code, again.json()) == (200, view)
    assert await runs.wallet() == {"available": 1000, "reserved": 0, "spent": 0, "deposited": 1000}


async def test_a_running_run_is_canceled_at_once(runs: RunsWorld) -> None:
    """Whoever holds the run loses it; nobody is ever shown the token it was held by."""
    job_id = await runs.made()
    run = await runs.stored(job_id)
    await runs.write(run, taken(run, "the-token"))
    text = (await runs.api.get(f"{JOBS}/{job_id}")).text
    assert "worker-1" in text
    assert "the-token" not in text
    assert (await runs.api.post(f"{JOBS}/{job_id}:cancel")).json()["lock"] is None


async def test_a_run_that_has_ended_cannot_be_canceled(runs: RunsWorld) -> None:
    """The run is as it was, and the refusal says what it is."""
    job_id = await runs.made()
    await runs.complete(job_id)
    before = await runs.shown(job_id)
    told = problem(await runs.api.post(f"{JOBS}/{job_id}:cancel"), 409, "RUN_ENDED")
    assert "completed" in told["detail"]
    assert await runs.shown(job_id) == before
    assert (before["credits_spent"], before["step_cursor"]) == (7.5, 3)


async def test_a_retry_is_one_new_run(runs: RunsWorld) -> None:
    """A run that has ended is run again once, from its first step; asked again it is the same new run."""
    job_id = await runs.made(input={"page": 7})
    problem(await runs.api.post(f"{JOBS}/{job_id}:retry"), 409, "INVALID_STATE")
    await runs.api.post(f"{JOBS}/{job_id}:cancel")
    first = await runs.api.post(f"{JOBS}/{job_id}:retry")
    again = await runs.api.post(f"{JOBS}/{job_id}:retry", {"user_id": "eve"})
    view = first.json()
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["location"] == f"{JOBS}/{view['job_id']}"
    assert again.json() == view
    assert (view["retry_of"], view["user_id"], view["input"]) == (job_id, "anonymous", {"page": 7})
    assert (view["status"], view["step_cursor"]) == ("queued", 0)


async def test_a_retry_is_its_callers_unless_they_name_somebody(runs: RunsWorld) -> None:
    """The new run belongs to the credential's subject, or to the user that was named."""
    one, other = await runs.made(), await runs.made()
    headers = runs.api.key(Role.OPERATE, tenants={"acme"})
    for job_id in (one, other):
        await runs.api.post(f"{JOBS}/{job_id}:cancel", headers=headers)
    mine = await runs.api.post(f"{JOBS}/{one}:retry", headers=headers)
    named = await runs.api.post(f"{JOBS}/{other}:retry", {"user_id": "grace"}, headers)
    assert named.json()["user_id"] == "grace"
    assert mine.json()["user_id"] not in {"ada", "anonymous", ""}


async def test_a_run_of_a_workflow_that_is_gone_cannot_run_again(runs: RunsWorld) -> None:
    """The run is there, so that is a conflict and not a 404."""
    run = new_run(workflow_id="of-old")
    await runs.backend.store.create(run, opening=100_000)
    await runs.write(run, canceled(run))
    for path in (f"{JOBS}/{run.job_id}:retry", f"{LETTERS}/{run.job_id}:redrive"):
        assert "of-old" in problem(await runs.api.post(path), 409, "UNKNOWN_WORKFLOW")["detail"]


async def test_credits_are_added_once_for_each_deposit(runs: RunsWorld) -> None:
    """A repeated deposit adds nothing; the same id with another amount is refused."""
    where = f"{WORKSPACES}/ACME/wallet:deposit"
    assert (await runs.wallet())["available"] == 0
    first, again = [await runs.api.post(where, {"credits": 12.34, "deposit_id": "d-1"}) for _ in range(2)]
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json() == {
        "workspace_id": "acme", "available": 12.34, "reserved": 0, "spent": 0, "deposited": 12.34,
    }  # fmt: skip
    assert (await runs.api.post(where, {"credits": 1, "deposit_id": "d-1"})).status_code == 409
    assert (await runs.wallet())["available"] == 12.34


@pytest.mark.parametrize("credits_given", [0, -1, 0.001, 1.005, 10**11, "12", True, None])
async def test_what_is_no_amount_is_no_deposit(runs: RunsWorld, credits_given: object) -> None:
    """Nothing, less than nothing, parts of a hundredth, and what is no number are refused at their place."""
    body = {"credits": credits_given, "deposit_id": "d"}
    answer = await runs.api.post(f"{WORKSPACES}/acme/wallet:deposit", body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == "/credits"
    assert (await runs.wallet())["deposited"] == 0


async def test_dead_letters_are_looked_at_and_stay(runs: RunsWorld) -> None:
    """Looking shows each message with its run, as often as one looks."""
    job_id = await runs.made()
    await runs.bury(job_id)
    for _ in range(2):
        (letter,) = (await runs.api.get(LETTERS)).json()["dead_letters"]
        assert (letter["job_id"], letter["workspace_id"], letter["status"]) == (job_id, "acme", "dead")
        assert (letter["last_error_code"], letter["workflow_id"]) == ("RECEIVES_EXHAUSTED", "three")
        assert letter["body"] is None


async def test_a_redriven_run_leaves_the_dead_letters(runs: RunsWorld) -> None:
    """Redrive makes one new run and deletes the messages of the old one."""
    job_id = await runs.made()
    problem(await runs.api.post(f"{LETTERS}/{job_id}:redrive"), 409, "INVALID_STATE")
    await runs.bury(job_id)
    first = await runs.api.post(f"{LETTERS}/{job_id}:redrive", {"user_id": "grace"})
    again = await runs.api.post(f"{LETTERS}/{job_id}:redrive")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["job_id"] == again.json()["job_id"]
    assert (first.json()["retry_of"], first.json()["user_id"]) == (job_id, "grace")
    assert (await runs.api.get(LETTERS)).json() == {"dead_letters": []}
    for missing in (NO_SUCH, "no-id", "idem%23acme%23x"):
        problem(await runs.api.post(f"{LETTERS}/{missing}:redrive"), 404, "NOT_FOUND")


async def test_discarded_letters_are_gone_and_their_run_is_not(runs: RunsWorld) -> None:
    """Only the messages of the run that is named go; a second time there is nothing left to discard."""
    kept, gone = await runs.made(), await runs.made()
    await runs.bury(kept)
    await runs.bury(gone)
    assert (await runs.api.post(f"{LETTERS}/{gone}:discard")).json() == {"discarded": 1}
    assert (await runs.api.post(f"{LETTERS}/{gone}:discard")).json() == {"discarded": 0}
    (letter,) = (await runs.api.get(LETTERS)).json()["dead_letters"]
    assert letter["job_id"] == kept
    assert (await runs.shown(gone))["status"] == "dead"


async def test_workflows_are_listed_with_what_they_cost(runs: RunsWorld) -> None:
    """Each with its steps in order, and the sum of what they may cost."""
    costly, _, three = (await runs.api.get("/v1/lifebook/workflows")).json()["workflows"]
    assert (costly["workflow_id"], three["workflow_id"]) == ("costly", "three")
    assert (three["max_attempts"], three["credits_estimate"]) == (4, 7.5)
    assert [(step["name"], step["credits"]) for step in three["steps"]] == [
        ("step-1", 1.25),
        ("step-2", 2.5),
        ("step-3", 3.75),
    ]


async def test_without_runs_every_route_says_so() -> None:
    """Whoever may ask is told that runs are off and what to do; others learn no more than ever."""
    async with runs_world(lifebook_backend="off") as runs:
        told = problem(await runs.create(), 503, "LIFEBOOK_OFF")
        assert "LUCIUS_LIFEBOOK_BACKEND" in told["detail"]
        for path in (
            f"{JOBS}/{NO_SUCH}", f"{WORKSPACES}/acme/jobs", f"{WORKSPACES}/acme/wallet", LETTERS,
            "/v1/lifebook/workflows",
        ):  # fmt: skip
            problem(await runs.api.get(path), 503, "LIFEBOOK_OFF")
        reader = runs.api.key(Role.READ)
        problem(await runs.api.post(JOBS, REQUEST, reader), 403, "FORBIDDEN")
        problem(await runs.api.post(JOBS, REQUEST), 401, "UNAUTHENTICATED")
