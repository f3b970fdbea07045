"""The control room over HTTP."""

from __future__ import annotations

from pathlib import Path

from lucius.adapters.ledgers.sqlite import SqliteLedger
from tests.api.world import World, configured, problem, world


async def test_dead_letters_are_listed_and_redriven_once(api: World) -> None:
    """A dead job is listed until it is run again; redriving twice finds the same new job."""
    job_id = await api.fail()
    (letter,) = (await api.get("/v1/admin/dead-letters")).json()["dead_letters"]
    assert (letter["jobId"], letter["error_code"], letter["redriven_as"]) == (job_id, "UNREADABLE", None)
    first = await api.post(f"/v1/admin/dead-letters/{job_id}:redrive")
    assert first.status_code == 202
    again = await api.post(f"/v1/admin/dead-letters/{job_id}:redrive")
    assert again.json()["jobId"] == first.json()["jobId"]
    (letter,) = (await api.get("/v1/admin/dead-letters")).json()["dead_letters"]
    assert letter["redriven_as"] == first.json()["jobId"]


async def test_many_dead_letters_are_redriven_by_filter(api: World) -> None:
    """One call redrives a page of what fits and is not redriven yet, and tells of each."""
    dead = [await api.fail(idempotency_key=f"k{number}") for number in range(3)]
    other = await api.fail(tenant_id="globex")
    none = await api.post("/v1/admin/dead-letters:redrive", {"error_code": "OTHER"})
    assert none.json() == {"redriven": 0, "results": []}
    some = (await api.post("/v1/admin/dead-letters:redrive", {"tenant_id": "acme", "limit": 2})).json()
    assert {item["jobId"] for item in some["results"]} == set(dead[1:])
    assert {item["status"] for item in some["results"]} == {202}
    rest = (await api.post("/v1/admin/dead-letters:redrive", {"error_code": "UNREADABLE"})).json()
    assert {item["jobId"] for item in rest["results"]} == {dead[0], other}
    problem(await api.post("/v1/admin/dead-letters:redrive", {"cursor": ""}), 400, "INVALID_CURSOR")
    empty = await api.post("/v1/admin/dead-letters:redrive")
    assert empty.json() == {"redriven": 0, "results": []}


async def test_dead_letters_come_in_pages(api: World) -> None:
    """The list of dead letters pages like the list of jobs."""
    dead = [await api.fail(idempotency_key=f"k{number}") for number in range(3)]
    first = (await api.get("/v1/admin/dead-letters", limit=2)).json()
    second = (await api.get("/v1/admin/dead-letters", limit=2, cursor=first["next_cursor"])).json()
    listed = [letter["jobId"] for page in (first, second) for letter in page["dead_letters"]]
    assert listed == dead[::-1]
    assert second["next_cursor"] is None


async def test_lanes_follow_the_published_vectors(api: World) -> None:
    """tenant_a is lane 15, with doc1 in BURST lane 3; tenant_b is lane 5."""
    found = (await api.get("/v1/admin/lanes", tenant_id="Tenant_A", doc_id="doc1")).json()
    assert [(lane["mode"], lane["lane"], lane["topic"]) for lane in found["lanes"]] == [
        ("DEFAULT", 15, "global-bus-p15"),
        ("BURST", 3, "global-bus-p3"),
    ]
    (only,) = (await api.get("/v1/admin/lanes", tenant_id="tenant_b")).json()["lanes"]
    assert (only["lane"], only["reply_topic"]) == (5, "global-bus-replies-p5")
    problem(await api.get("/v1/admin/lanes"), 422, "INVALID_PARAMETER")


async def test_limits_stand_beside_what_is_in_use(tmp_path: Path) -> None:
    """Configured limits and counted jobs are told for the system and for a tenant."""
    async with world(configured(tmp_path, tenant_jobs=5, system_jobs=9)) as api:
        await api.submit()
        found = (await api.get("/v1/admin/limits", tenant_id="acme")).json()
        assert found["system"] == {"in_use": 1, "limit": 9}
        assert found["tenants"][0]["limits"]["tenant"] == {"in_use": 1, "limit": 5}


async def test_a_healthy_lucius_has_no_drift(api: World) -> None:
    """With open, paused and finished jobs every comparison agrees."""
    await api.fail()
    paused = await api.submit(idempotency_key="paused")
    await api.submit(idempotency_key="open")
    await api.post(f"/v1/jobs/{paused}:pause")
    found = (await api.get("/v1/admin/drift")).json()
    assert found["jobs_read"] == 2
    assert [check for check in found["checks"] if not check["ok"]] == []
    assert found["ok"] is found["complete"] is True


async def test_drift_is_found_when_counts_and_rows_differ(api: World) -> None:
    """A count that no row explains is told with both figures."""
    await api.submit()
    ledger = api.lucius.ledger
    assert isinstance(ledger, SqliteLedger)
    ledger.tally.by_state["acme", "IN_PROGRESS"] += 3
    found = (await api.get("/v1/admin/drift")).json()
    (wrong,) = [check for check in found["checks"] if not check["ok"]]
    assert (found["ok"], wrong["name"]) == (False, "counts_match_rows")
    assert wrong["figures"]["counted_IN_PROGRESS"] == 3


async def test_dead_messages_on_the_bus_are_drift(api: World) -> None:
    """A directive that a service threw away is seen by the check."""
    await api.submit()
    (lent,) = await api.take("OCR")
    dead = {"lock_token": lent["lock_token"], "outcome": "dead_letter", "reason": "unreadable"}
    await api.post("/v1/directives:settle", {"settlements": [dead]})
    checks = {check["name"]: check for check in (await api.get("/v1/admin/drift")).json()["checks"]}
    assert (checks["bus_dead_messages"]["ok"], checks["bus_dead_messages"]["figures"]["dead"]) == (False, 1)


async def test_the_outbox_is_retried_for_what_is_unsent_only(api: World) -> None:
    """Jobs whose directive the bus has are left alone; unknown ones are 404."""
    job_id = await api.submit()
    await api.sent(job_id)
    assert (await api.post("/v1/admin/outbox/retry", {"job_ids": [job_id]})).json() == {"offered": 0}
    assert (await api.post("/v1/admin/outbox/retry")).json() == {"offered": 0}
    problem(await api.post("/v1/admin/outbox/retry", {"job_ids": ["unknown"]}), 404, "NOT_FOUND")


async def test_a_reload_takes_a_good_version_and_keeps_the_last_one_else(tmp_path: Path) -> None:
    """New limits count after a reload; a broken file changes nothing and is pointed at."""
    async with world(configured(tmp_path, tenant_jobs=5)) as api:
        # Whoever watches the files may have come first; the outcome then says so.
        configured(tmp_path, tenant_jobs=6)
        assert (await api.post("/v1/admin/reload")).json()["outcome"] in {"reloaded", "unchanged"}
        (tmp_path / "lucius.yaml").write_text("limits: [1]\n", encoding="utf-8")
        kept = (await api.post("/v1/admin/reload")).json()
        assert kept["outcome"] in {"kept", "unchanged"}
        assert (kept["problems"][0]["file"], kept["problems"][0]["line"]) == ("lucius.yaml", 1)
        limits = (await api.get("/v1/admin/limits", tenant_id="acme")).json()["tenants"][0]["limits"]
        assert limits["tenant"]["limit"] == 6


async def test_protocols_are_listed_for_everybody_and_for_administrators(api: World) -> None:
    """Both lists show the shipped protocols with their steps."""
    public, admin = (await api.get("/v1/protocols")).json(), (await api.get("/v1/admin/protocols")).json()
    assert public == admin
    steps = {one["request_type"]: [step["step_id"] for step in one["steps"]] for one in public["protocols"]}
    assert steps["OCR_EMBEDDING_SIS"] == ["ocr", "embedding", "sis"]
    assert len(steps) == 6
