"""Somebody else's runs: what is not yours does not exist."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from lucius.lifebook.core.keys import KeySpace, unique_id
from lucius.lifebook.core.run import Run
from lucius.lifebook.usecases.look import Look
from lucius.security.principal import Role
from tests.api.test_api_security import ROUTES, SYSTEM_WIDE
from tests.api.world import NO_SUCH, problem
from tests.lifebook.api_world import JOBS, WORKSPACES, RunsWorld, runs_world

OURS = [route for route in ROUTES if route[1].startswith("/v1/lifebook/")]
OF_A_RUN = [route for route in OURS if "{job_id}" in route[1] and route not in SYSTEM_WIDE]
OF_A_WORKSPACE = [route for route in OURS if "{workspace_id}" in route[1] and route not in SYSTEM_WIDE]
OF_A_TRIGGER = [
    route for route in OURS if ("{schedule_id}" in route[1] or "{hook_id}" in route[1]) and ROUTES[route][0]
]


@pytest.fixture
async def runs() -> AsyncIterator[RunsWorld]:
    """A Lucius that takes runs."""
    async with runs_world() as found:
        yield found


@pytest.mark.parametrize("route", OF_A_RUN, ids=" ".join)
async def test_somebody_elses_run_is_a_run_that_does_not_exist(
    runs: RunsWorld, route: tuple[str, str]
) -> None:
    """A foreign id, an unknown id, an impossible id and the name of another item give the same bytes."""
    job_id = await runs.made(idempotency_key="k")
    await runs.api.post(f"{JOBS}/{job_id}:cancel")
    before = await runs.shown(job_id)
    stranger, owner = runs.api.key(*Role, tenants={"globex"}), runs.api.key(*Role, tenants={"acme"})
    other_items = unique_id("acme", KeySpace.CLIENT, "k"), "wallet#acme"
    named = [job_id, NO_SUCH, job_id.upper(), "no%20id", "x" * 300, "é:x"]
    named += [name.replace("#", "%23") for name in other_items]
    method, path = route
    answers = [
        await runs.api.client.request(method, path.replace("{job_id}", name), headers=stranger)
        for name in named
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1
    assert await runs.shown(job_id, owner) == before
    mine = await runs.api.client.request(method, path.replace("{job_id}", job_id), headers=owner)
    assert mine.status_code in {200, 201}


@pytest.mark.parametrize(
    "name",
    [
        "wallet%23acme",
        "idem%23acme%23x",
        "event%23x",
        "7D1C2F0E-6C0A-4F5E-9A44-0D3F6E1B2C3D",
        f"{NO_SUCH}%0A",
    ],
)
async def test_names_of_other_items_are_not_looked_up(
    runs: RunsWorld, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A table may hold more than runs; what is no id of a run is missing before the store is asked."""

    async def never(_look: Look, job_id: str) -> Run:
        raise AssertionError(f"{job_id} was looked up")

    monkeypatch.setattr(Look, "run", never)
    problem(await runs.api.get(f"{JOBS}/{name}"), 404, "NOT_FOUND")


@pytest.mark.parametrize("route", OF_A_TRIGGER, ids=" ".join)
async def test_somebody_elses_trigger_is_one_that_does_not_exist(
    runs: RunsWorld, route: tuple[str, str]
) -> None:
    """A foreign schedule or hook, an unknown one and an impossible one give the same bytes, and it stays."""
    kind, name = ("hook", "hooks") if "{hook_id}" in route[1] else ("schedule", "schedules")
    listed = f"{WORKSPACES}/acme/{name}"
    made = (await runs.api.post(listed, ROUTES["POST", f"{WORKSPACES}/{{workspace_id}}/{name}"][1])).json()
    before = (await runs.api.get(listed)).json()
    stranger, owner = runs.api.key(*Role, tenants={"globex"}), runs.api.key(*Role, tenants={"acme"})
    method, path = route
    answers = [
        await runs.api.client.request(method, path.replace(f"{{{kind}_id}}", given), headers=stranger)
        for given in (made[f"{kind}_id"], NO_SUCH, "no%20id", "x" * 300, "é:x", f"{kind}%23x")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1
    assert (await runs.api.get(listed, owner)).json() == before
    where = path.replace(f"{{{kind}_id}}", made[f"{kind}_id"])
    assert (await runs.api.client.request(method, where, headers=owner)).status_code in {200, 204}


@pytest.mark.parametrize("route", OF_A_WORKSPACE, ids=" ".join)
async def test_somebody_elses_workspace_is_forbidden_whether_it_exists_or_not(
    runs: RunsWorld, route: tuple[str, str]
) -> None:
    """The refusal is the same for a workspace with runs and for one that never was."""
    await runs.made()
    stranger = runs.api.key(*Role, tenants={"globex"})
    method, path = route
    body = ROUTES[route][1]
    told = []
    for name in ("acme", "ACME", "never-was"):
        where = path.replace("{workspace_id}", name)
        answer = await runs.api.client.request(method, where, headers=stranger, json=body)
        told.append(problem(answer, 403, "TENANT_FORBIDDEN") | {"instance": ""})
    assert told[0] == told[1] == told[2]
    mine = await runs.api.client.request(
        method, path.replace("{workspace_id}", "globex"), headers=stranger, json=body
    )
    assert mine.status_code in {200, 201}, mine.text


async def test_nobody_creates_runs_in_somebody_elses_workspace(runs: RunsWorld) -> None:
    """It is refused for a workspace that exists and for one that does not, and makes nothing."""
    await runs.made()
    stranger = runs.api.key(Role.SUBMIT, tenants={"globex"})
    for workspace in ("acme", "ACME", "never-was"):
        problem(await runs.create(stranger, workspace_id=workspace), 403, "TENANT_FORBIDDEN")
    admin = runs.api.key(Role.ADMIN)
    assert len((await runs.api.get(f"{WORKSPACES}/acme/jobs", admin)).json()["jobs"]) == 1
    assert (await runs.create(stranger, workspace_id="GLOBEX")).json()["workspace_id"] == "globex"
