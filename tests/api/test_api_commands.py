"""Submitting over HTTP: durable, once, within limits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lucius.ports.ledger import JobQuery
from lucius.testing.hostile import valid
from tests.api.world import World, configured, problem, world


@pytest.mark.parametrize("path", ["/v1/orchestrate", "/v1/commands"])
async def test_a_command_becomes_a_job_that_can_be_looked_at(api: World, path: str) -> None:
    """202 means there is a job at Location, with the state the answer told."""
    answer = await api.post(path, valid(request_type="ocr -> embedding", correlation_id="c-1"))
    assert answer.status_code == 202
    told = answer.json()
    assert answer.headers["location"] == told["links"]["self"] == f"/v1/jobs/{told['jobId']}"
    assert (told["status"], told["state"], told["duplicate"]) == ("QUEUED", "QUEUED", False)
    job = (await api.get(answer.headers["location"])).json()
    assert job["jobId"] == told["jobId"]
    assert job["request_type"] == "OCR_EMBEDDING"
    assert job["correlation_id"] == "c-1"
    assert [step["step_id"] for step in job["steps"]] == ["ocr", "embedding"]
    assert job["created_at"].endswith("Z")


async def test_every_link_leads_somewhere(api: World) -> None:
    """What the 202 links to answers 200."""
    links = (await api.post("/v1/orchestrate", valid())).json()["links"]
    assert {(await api.get(path)).status_code for path in links.values()} == {200}


async def test_64_commands_of_one_key_at_once_are_one_job(api: World) -> None:
    """However many come at the same moment, one job is made and all are told its id."""
    answers = await asyncio.gather(
        *(api.post("/v1/orchestrate", valid(), {"idempotency-key": "same"}) for _ in range(64))
    )
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["jobId"] for answer in answers}) == 1
    assert sorted(answer.json()["duplicate"] for answer in answers) == [False] + [True] * 63
    assert len(await api.lucius.ledger.jobs(JobQuery())) == 1


async def test_the_same_key_with_another_body_is_told_where_they_differ(api: World) -> None:
    """A key stands for one body; another one is refused with pointers, and nothing is made."""
    await api.submit(idempotency_key="k")
    other = valid(idempotency_key="k", payload={"language": "de"}, output_ref={"uri": "s3://results/acme/2/"})
    found = problem(await api.post("/v1/orchestrate", other), 422, "IDEMPOTENCY_KEY_REUSED")
    assert {error["pointer"] for error in found["errors"]} == {"/output_ref/uri", "/payload/language"}
    assert len(await api.lucius.ledger.jobs(JobQuery())) == 1


async def test_header_and_body_may_not_name_different_keys(api: World) -> None:
    """The Idempotency-Key header and the field say the same, or the command is refused with 400."""
    answer = await api.post("/v1/orchestrate", valid(idempotency_key="a"), {"idempotency-key": "b"})
    problem(answer, 400, "IDEMPOTENCY_KEY_MISMATCH")
    same = await api.post("/v1/orchestrate", valid(idempotency_key="a"), {"idempotency-key": "a"})
    assert same.status_code == 202


async def test_a_full_tenant_is_refused_and_its_replays_are_not(tmp_path: Path) -> None:
    """429 with Retry-After for what is new, 202 for what was accepted before; others are not affected."""
    async with world(configured(tmp_path, tenant_jobs=1, retry_after=7)) as api:
        job_id = await api.submit(idempotency_key="first")
        refused = await api.post("/v1/orchestrate", valid(idempotency_key="second"))
        problem(refused, 429, "TENANT_SATURATED")
        assert refused.headers["retry-after"] == "7"
        assert await api.submit(idempotency_key="first") == job_id
        assert await api.submit(tenant_id="globex") != job_id


async def test_a_full_system_is_503_and_tells_no_figures(tmp_path: Path) -> None:
    """SYSTEM_SATURATED comes with Retry-After and says nothing about other tenants."""
    async with world(configured(tmp_path, system_jobs=1)) as api:
        job_id = await api.submit(idempotency_key="first")
        refused = await api.post("/v1/orchestrate", valid(tenant_id="globex"))
        found = problem(refused, 503, "SYSTEM_SATURATED")
        assert int(refused.headers["retry-after"]) > 0
        assert not any(letter.isdigit() for letter in found["detail"])
        assert await api.submit(idempotency_key="first") == job_id


async def test_a_burst_limit_counts_burst_jobs_only(tmp_path: Path) -> None:
    """A tenant at its BURST limit may still submit without BURST."""
    async with world(configured(tmp_path, tenant_burst_jobs=1)) as api:
        await api.submit(mode="BURST", doc_id="d1", idempotency_key="1")
        again = valid(mode="BURST", doc_id="d2", idempotency_key="2")
        problem(await api.post("/v1/orchestrate", again), 429, "BURST_SATURATED")
        await api.submit(idempotency_key="3")


async def test_a_plan_tells_everything_and_makes_nothing(tmp_path: Path) -> None:
    """The dry run shows protocol, lane and limits, and whether the job would be let in."""
    async with world(configured(tmp_path, tenant_jobs=1)) as api:
        free = (await api.post("/v1/orchestrate:plan", valid(tenant_id="tenant_a"))).json()
        assert (free["lane"], free["topic"], free["mode"]) == (15, "global-bus-p15", "DEFAULT")
        assert free["admitted"] is True
        assert await api.lucius.ledger.jobs(JobQuery()) == []
        await api.submit(tenant_id="tenant_a", doc_id="doc1")
        full = (await api.post("/v1/orchestrate:plan", valid(tenant_id="tenant_a"))).json()
        assert (full["admitted"], full["refusal"]["code"]) == (False, "TENANT_SATURATED")
        assert full["limits"]["tenant"] == {"in_use": 1, "limit": 1}


async def test_a_plan_refuses_what_a_submit_refuses(api: World) -> None:
    """Planning and submitting judge a command alike."""
    for body in (valid(request_type="NOPE"), valid(priority=11), valid(input_ref={"uri": "http://a/b"})):
        planned, submitted = (
            await api.post("/v1/orchestrate:plan", body),
            await api.post("/v1/orchestrate", body),
        )
        assert planned.status_code == submitted.status_code == 422
        assert planned.json()["code"] == submitted.json()["code"]


async def test_each_item_of_a_batch_is_judged_alone(api: World) -> None:
    """Good items become jobs whatever stands beside them, and each bad one keeps its own problem."""
    items = [valid(), valid(), {"tenant_id": "acme"}, "no object", valid(payload={"x": "y" * 270_000})]
    answer = await api.post("/v1/orchestrate:batch", {"items": items})
    assert answer.status_code == 200
    told = answer.json()
    assert [item["status"] for item in told["results"]] == [202, 202, 422, 422, 413]
    assert (told["accepted"], told["refused"]) == (2, 3)
    first, second = told["results"][:2]
    assert first["job"]["jobId"] == second["job"]["jobId"]
    assert (first["job"]["duplicate"], second["job"]["duplicate"]) == (False, True)
    assert told["results"][2]["problem"]["code"] == "REQUIRED"
    assert len(told["results"][2]["problem"]["errors"]) == 5


async def test_a_batch_has_bounds(api: World) -> None:
    """No more than 100 items, at least one, no key for all of them, no unknown field."""
    items = [valid(idempotency_key=f"k{number}") for number in range(101)]
    found = problem(await api.post("/v1/orchestrate:batch", {"items": items}), 422, "INVALID_REQUEST")
    assert found["errors"][0]["pointer"] == "/items"
    problem(await api.post("/v1/orchestrate:batch", {"items": []}), 422, "INVALID_REQUEST")
    problem(await api.post("/v1/orchestrate:batch", {"itmes": [1]}), 422, "INVALID_REQUEST")
    keyed = await api.post("/v1/orchestrate:batch", {"items": items[:1]}, {"idempotency-key": "k"})
    problem(keyed, 400, "IDEMPOTENCY_KEY_NOT_TAKEN")
    assert (await api.post("/v1/orchestrate:batch", {"items": items[:100]})).json()["accepted"] == 100
