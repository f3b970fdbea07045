"""`POST /v1/lifebook/jobs`: one request, one run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lucius.lifebook.core.states import TriggerType
from tests.api.world import problem
from tests.lifebook.api_world import JOBS, REQUEST, WORKSPACES, RunsWorld, runs_world

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
async def runs() -> AsyncIterator[RunsWorld]:
    """A Lucius that takes runs."""
    async with runs_world() as found:
        yield found


async def test_a_new_run_is_201_and_is_where_location_says(runs: RunsWorld) -> None:
    """The answer is the run by the contract's names, as it is found again under its address."""
    answer = await runs.create(input={"page": 1})
    view = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{JOBS}/{view['job_id']}"
    assert (await runs.api.get(answer.headers["location"])).json() == view
    expected = REQUEST | {
        "trigger_type": "manual", "status": "queued", "attempts": 0, "max_attempts": 4, "step_cursor": 0,
        "steps_total": 3, "credits_estimate": 7.5, "credits_reserved": 7.5, "credits_spent": 0,
        "idempotency_key": view["job_id"], "input": {"page": 1}, "artifacts": {}, "lock": None,
        "retry_of": None, "ttl_at": None, "last_error_code": None,
    }  # fmt: skip
    assert {name: view[name] for name in expected} == expected
    assert view["steps"][1] == {"name": "step-2", "state": "waiting", "credits": 2.5}


async def test_the_same_key_is_the_same_run(runs: RunsWorld) -> None:
    """A repeated request is 200 with the run that is there, whichever way its key came."""
    first = await runs.create(idempotency_key="k 1")
    by_header = await runs.create({"idempotency-key": "k 1"})
    both = await runs.create({"idempotency-key": "k 1"}, idempotency_key="k 1", workspace_id="ACME")
    elsewhere = await runs.create(idempotency_key="k 1", workspace_id="globex")
    assert [one.status_code for one in (first, by_header, both, elsewhere)] == [201, 200, 200, 201]
    assert first.json() == by_header.json() == both.json()
    assert elsewhere.json()["job_id"] != first.json()["job_id"]
    assert "location" not in by_header.headers
    assert (await runs.wallet())["reserved"] == 7.5


async def test_many_requests_at_once_with_one_key_are_one_run(runs: RunsWorld) -> None:
    """Of requests that race, one makes the run and all others are shown it."""
    answers = await asyncio.gather(*(runs.create(idempotency_key="race") for _ in range(32)))
    assert sorted(answer.status_code for answer in answers) == [200] * 31 + [201]
    assert len({answer.json()["job_id"] for answer in answers}) == 1
    assert (await runs.wallet())["reserved"] == 7.5


async def test_requests_without_a_key_are_runs_of_their_own(runs: RunsWorld) -> None:
    """Nothing but a key makes two requests one."""
    assert await runs.made() != await runs.made()


@pytest.mark.parametrize("change", [{"input": {"page": 2}}, {"trigger_type": "webhook"}])
async def test_a_key_cannot_be_used_for_something_else(runs: RunsWorld, change: dict[str, Any]) -> None:
    """The same key with another request is refused, and points at the key."""
    await runs.made(idempotency_key="k", input={"page": 1})
    told = problem(
        await runs.create(**{"idempotency_key": "k", "input": {"page": 1}} | change),
        422,
        "IDEMPOTENCY_KEY_REUSED",
    )
    assert told["errors"][0]["pointer"] == "/idempotency_key"


async def test_two_keys_that_differ_are_a_mistake(runs: RunsWorld) -> None:
    """A header that contradicts the body is refused, and so is a header that is no key."""
    told = problem(
        await runs.create({"idempotency-key": "a"}, idempotency_key="b"), 422, "IDEMPOTENCY_KEY_MISMATCH"
    )
    assert told["errors"][0]["pointer"] == "/idempotency_key"
    problem(await runs.create({"idempotency-key": "x" * 201}), 422, "INVALID_IDEMPOTENCY_KEY")


@pytest.mark.parametrize("trigger", TriggerType)
async def test_a_run_says_what_started_it(runs: RunsWorld, trigger: TriggerType) -> None:
    """Each of the four triggers may be told."""
    assert (await runs.create(trigger_type=trigger)).json()["trigger_type"] == trigger


async def test_a_run_belongs_to_the_trace_of_its_request(runs: RunsWorld) -> None:
    """A traceparent gives the run its trace; a bad one is ignored, and the run has a trace of its own."""
    traced = await runs.create({"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
    assert traced.json()["trace_id"] == TRACE
    own = (await runs.create({"traceparent": "00-nonsense"})).json()
    assert own["trace_id"] == own["job_id"].replace("-", "")


async def test_a_run_that_cannot_be_paid_is_402_and_is_not_made(runs: RunsWorld) -> None:
    """Where the wallet does not cover the estimate nothing is made and nothing is held."""
    answer = await runs.create(workflow_id="costly")
    told = problem(answer, 402, "INSUFFICIENT_CREDITS")
    assert "10000000 credits" in told["detail"]
    assert (await runs.api.get(f"{WORKSPACES}/acme/jobs")).json()["jobs"] == []
    assert (await runs.wallet())["reserved"] == 0


async def test_an_unknown_workflow_is_named_with_those_there_are(runs: RunsWorld) -> None:
    """The refusal points at the field and lists what is registered."""
    told = problem(await runs.create(workflow_id="nope"), 422, "UNKNOWN_WORKFLOW")
    assert told["errors"][0]["pointer"] == "/workflow_id"
    assert "costly, example-four-steps, three" in told["detail"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"user_id": None}, "/user_id"),
        ({"user_id": ""}, "/user_id"),
        ({"user_id": "u" * 129}, "/user_id"),
        ({"user_id": "ada\n"}, "/user_id"),
        ({"user_id": "a\x00b"}, "/user_id"),
        ({"workspace_id": "idem#acme"}, "/workspace_id"),
        ({"workspace_id": "acme\n"}, "/workspace_id"),
        ({"workspace_id": "\N{KELVIN SIGN}elvin"}, "/workspace_id"),
        ({"workspace_id": "a" * 64}, "/workspace_id"),
        ({"workflow_id": ""}, "/workflow_id"),
        ({"trigger_type": "cron"}, "/trigger_type"),
        ({"input": []}, "/input"),
        ({"input": {"text": "x" * 33_000}}, "/input"),
        ({"idempotency_key": ""}, "/idempotency_key"),
        ({"idempotency_key": "k\n"}, "/idempotency_key"),
        ({"idempotency_key": "k" * 201}, "/idempotency_key"),
        ({"inputs": {}}, "/inputs"),
    ],
)
async def test_a_wrong_field_is_pointed_at(runs: RunsWorld, change: dict[str, Any], pointer: str) -> None:
    """What does not fit is refused with its place, and no run is made."""
    answer = await runs.create(**change)
    assert answer.status_code == 422, answer.text
    assert [one["pointer"] for one in answer.json()["errors"]] == [pointer]
    assert (await runs.api.get(f"{WORKSPACES}/acme/jobs")).json()["jobs"] == []


@pytest.mark.parametrize("name", REQUEST)
async def test_a_missing_field_is_named(runs: RunsWorld, name: str) -> None:
    """Workspace, user and workflow must be told."""
    answer = await runs.api.post(JOBS, {field: value for field, value in REQUEST.items() if field != name})
    assert problem(answer, 422, "INVALID_REQUEST")["errors"][0]["pointer"] == f"/{name}"


@pytest.mark.parametrize(
    "path", [JOBS, f"{WORKSPACES}/acme/wallet:deposit", f"{JOBS}/{{id}}:cancel", f"{JOBS}/{{id}}:retry"]
)
async def test_every_body_about_runs_is_read_as_strictly(runs: RunsWorld, path: str) -> None:
    """Bombs, bad bytes, doubled keys and other media types are refused wherever a body is taken."""
    where = path.replace("{id}", await runs.made())
    hostile = {
        b"{": 400,
        b"\xff\xfe": 400,
        b'{"user_id": "a", "user_id": "b"}': 422,
        b'{"user_id": "\\ud800"}': 422,
        b"[" * 100_000: 422,
        b"[]": 422,
        b" " * 300_000: 413,
    }
    for raw, status in hostile.items():
        answer = await runs.api.client.post(where, content=raw, headers={"content-type": "application/json"})
        assert (answer.status_code, raw[:20]) == (status, raw[:20])
        assert answer.headers["content-type"] == "application/problem+json"
    other = await runs.api.client.post(where, content=b"{}", headers={"content-type": "text/plain"})
    problem(other, 415, "UNSUPPORTED_MEDIA_TYPE")
