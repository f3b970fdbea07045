"""Who may do what: tenants, roles, open mode. A route that is not listed here fails the build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from lucius.runtime import nature
from lucius.security.principal import Role
from lucius.testing.forgeries import forged_jwts, forged_keys
from lucius.testing.hostile import valid
from tests.api.world import NO_SUCH, World, problem, world
from tests.security.builders import the_issuer

R = Role
ANYBODY = frozenset[Role]()
READ = frozenset({R.READ, R.OPERATE, R.ADMIN})
OPERATE = frozenset({R.OPERATE, R.ADMIN})
SUBMIT = frozenset({R.SUBMIT, R.ADMIN})
ADMIN = frozenset({R.ADMIN})
SERVICE = frozenset({R.SERVICE, R.ADMIN})
CREDENTIAL = frozenset(Role)

RUN = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "example-four-steps"}
DEPOSIT = {"credits": 1, "deposit_id": "d-1"}
HOOK = {"workflow_id": "example-four-steps"}
SCHEDULE = HOOK | {"cron": "30 6 * * MON-FRI"}

#: route -> (who may, a body that is good). ANYBODY: no credential is asked for.
ROUTES: dict[tuple[str, str], tuple[frozenset[Role], Any]] = {
    ("POST", "/v1/orchestrate"): (SUBMIT, valid()),
    ("POST", "/v1/commands"): (SUBMIT, valid()),
    ("POST", "/v1/orchestrate:plan"): (SUBMIT, valid()),
    ("POST", "/v1/orchestrate:batch"): (SUBMIT, {"items": [valid()]}),
    ("POST", "/v1/callbacks/ack"): (ANYBODY, {}),
    ("POST", "/v1/callbacks/heartbeat"): (ANYBODY, {}),
    ("POST", "/v1/callbacks/result"): (ANYBODY, {}),
    ("POST", "/v1/callbacks/batch"): (ANYBODY, {"replies": [{}]}),
    ("POST", "/v1/directives:receive"): (SERVICE, {"step_types": ["OCR"]}),
    ("POST", "/v1/directives:settle"): (
        SERVICE,
        {"settlements": [{"lock_token": "x", "outcome": "complete"}]},
    ),
    ("POST", "/v1/directives:renew"): (SERVICE, {"lock_tokens": ["x"]}),
    ("GET", "/v1/jobs"): (READ, None),
    ("GET", "/v1/jobs/{jobId}"): (READ, None),
    ("GET", "/v1/jobs/{jobId}/steps"): (READ, None),
    ("GET", "/v1/jobs/{jobId}/events"): (READ, None),
    ("GET", "/v1/jobs/{jobId}/explain"): (READ, None),
    ("GET", "/v1/jobs/{jobId}/deliveries"): (READ, None),
    ("POST", "/v1/jobs/{jobId}:cancel"): (OPERATE, None),
    ("POST", "/v1/jobs/{jobId}:pause"): (OPERATE, None),
    ("POST", "/v1/jobs/{jobId}:resume"): (OPERATE, None),
    ("POST", "/v1/jobs/{jobId}:retry"): (OPERATE, None),
    ("GET", "/v1/protocols"): (CREDENTIAL, None),
    ("POST", "/v1/admin/outbox/retry"): (ADMIN, None),
    ("GET", "/v1/admin/dead-letters"): (ADMIN, None),
    ("POST", "/v1/admin/dead-letters/{jobId}:redrive"): (ADMIN, None),
    ("POST", "/v1/admin/dead-letters:redrive"): (ADMIN, None),
    ("GET", "/v1/admin/lanes"): (ADMIN, None),
    ("GET", "/v1/admin/limits"): (ADMIN, None),
    ("GET", "/v1/admin/protocols"): (ADMIN, None),
    ("GET", "/v1/admin/drift"): (ADMIN, None),
    ("POST", "/v1/admin/reload"): (ADMIN, None),
    ("POST", "/v1/lifebook/jobs"): (SUBMIT, RUN),
    ("GET", "/v1/lifebook/jobs/{job_id}"): (READ, None),
    ("POST", "/v1/lifebook/jobs/{job_id}:cancel"): (OPERATE, None),
    ("POST", "/v1/lifebook/jobs/{job_id}:retry"): (OPERATE, None),
    ("GET", "/v1/lifebook/workspaces/{workspace_id}/jobs"): (READ, None),
    ("GET", "/v1/lifebook/workspaces/{workspace_id}/wallet"): (READ, None),
    ("POST", "/v1/lifebook/workspaces/{workspace_id}/wallet:deposit"): (ADMIN, DEPOSIT),
    ("POST", "/v1/lifebook/workspaces/{workspace_id}/schedules"): (OPERATE, SCHEDULE),
    ("GET", "/v1/lifebook/workspaces/{workspace_id}/schedules"): (READ, None),
    ("POST", "/v1/lifebook/schedules/{schedule_id}:pause"): (OPERATE, None),
    ("POST", "/v1/lifebook/schedules/{schedule_id}:resume"): (OPERATE, None),
    ("DELETE", "/v1/lifebook/schedules/{schedule_id}"): (OPERATE, None),
    ("POST", "/v1/lifebook/workspaces/{workspace_id}/hooks"): (OPERATE, HOOK),
    ("GET", "/v1/lifebook/workspaces/{workspace_id}/hooks"): (READ, None),
    ("POST", "/v1/lifebook/hooks/{hook_id}"): (ANYBODY, {}),
    ("DELETE", "/v1/lifebook/hooks/{hook_id}"): (OPERATE, None),
    ("GET", "/v1/lifebook/workflows"): (CREDENTIAL, None),
    ("GET", "/v1/lifebook/dead-letters"): (OPERATE, None),
    ("POST", "/v1/lifebook/dead-letters/{job_id}:redrive"): (OPERATE, None),
    ("POST", "/v1/lifebook/dead-letters/{letter_id}:discard"): (OPERATE, None),
    ("GET", "/healthz"): (ANYBODY, None),
    ("GET", "/readyz"): (ANYBODY, None),
    ("GET", "/metrics"): (READ, None),
    ("GET", "/openapi.json"): (ANYBODY, None),
}
WITH_ID = [route for route in ROUTES if "{jobId}" in route[1]]
#: What concerns all tenants at once needs a credential for all of them.
SYSTEM_WIDE = [
    ("GET", "/metrics"),
    ("GET", "/v1/admin/drift"),
    ("POST", "/v1/admin/reload"),
    ("POST", "/v1/admin/outbox/retry"),
    ("POST", "/v1/lifebook/workspaces/{workspace_id}/wallet:deposit"),
    ("GET", "/v1/lifebook/dead-letters"),
    ("POST", "/v1/lifebook/dead-letters/{job_id}:redrive"),
    ("POST", "/v1/lifebook/dead-letters/{letter_id}:discard"),
]
QUERY = {"/v1/admin/lanes": {"tenant_id": "acme"}}


def served(api: World) -> Iterator[tuple[str, str]]:
    """Every route of the application."""
    for route in api.api.routes:
        assert isinstance(route, Route), f"{route} is served but cannot be listed"
        yield from ((method, route.path) for method in route.methods or () if method != "HEAD")


async def ask(api: World, route: tuple[str, str], headers: dict | None, job_id: str = NO_SUCH) -> Any:
    """One good request to a route."""
    method, path = route
    body = ROUTES[route][1]
    where = re.sub(r"\{\w+\}", job_id, path.replace("{workspace_id}", "acme"))
    return await api.client.request(
        method,
        where,
        json=body,
        headers=headers,
        params=QUERY.get(path),
    )


async def test_no_route_is_without_its_security_tests(api: World) -> None:
    """A route that is served is in the table above, and nothing else is."""
    assert set(served(api)) == set(ROUTES)


async def test_every_operation_is_in_the_openapi_document(api: World) -> None:
    """The document describes what is served, no more and no less."""
    paths = (await api.get("/openapi.json")).json()["paths"]
    assert {(method.upper(), path) for path, item in paths.items() for method in item} == set(ROUTES)


@pytest.mark.parametrize("route", WITH_ID, ids=" ".join)
async def test_somebody_elses_job_is_a_job_that_does_not_exist(api: World, route: tuple[str, str]) -> None:
    """A foreign id, an unknown id and an impossible id give the same bytes, and nothing happens."""
    job_id = await api.fail(tenant_id="acme")
    before = (await api.get(f"/v1/jobs/{job_id}")).json()
    stranger = api.key(*Role, tenants={"globex"})
    owner = api.key(*Role, tenants={"acme"})
    answers = [
        await ask(api, route, stranger, name) for name in (job_id, NO_SUCH, "no%20id", "x" * 300, "é:x")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1
    assert (await api.get(f"/v1/jobs/{job_id}", owner)).json() == before
    assert (await ask(api, route, owner, job_id)).status_code != 404


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
async def test_each_route_wants_its_role(api: World, route: tuple[str, str]) -> None:
    """Without a credential 401, without the role 403, with it neither; ids play no part in that."""
    may = ROUTES[route][0]
    keys = {role: api.key(role) for role in Role}
    nobody = await ask(api, route, None)
    if may is ANYBODY:
        signed = "callbacks" in route[1] or "hooks" in route[1]  # what is sent says who sent it
        assert nobody.status_code in ({401, 200} if signed else {200})
        return
    problem(nobody, 401, "UNAUTHENTICATED")
    assert nobody.headers["www-authenticate"].startswith("Bearer")
    for role, headers in keys.items():
        answer = await ask(api, route, headers)
        if role in may:
            assert answer.status_code in {200, 201, 202, 404}, (role, answer.text)
        else:
            problem(answer, 403, "FORBIDDEN")


@pytest.mark.parametrize("route", SYSTEM_WIDE, ids=" ".join)
async def test_what_concerns_everybody_needs_a_key_for_everybody(api: World, route: tuple[str, str]) -> None:
    """An administrator of one tenant cannot look at, or act on, the whole system."""
    problem(await ask(api, route, api.key(*Role, tenants={"acme"})), 403, "TENANT_FORBIDDEN")


async def test_lists_show_the_tenants_of_the_credential_only(api: World) -> None:
    """Jobs and dead letters of others are not in any list, and asking for them by name is 403."""
    mine, theirs = await api.fail(tenant_id="acme"), await api.fail(tenant_id="globex")
    headers = api.key(*Role, tenants={"acme"})
    jobs = (await api.get("/v1/jobs", headers)).json()["jobs"]
    letters = (await api.get("/v1/admin/dead-letters", headers)).json()["dead_letters"]
    assert [job["jobId"] for job in jobs] == [letter["jobId"] for letter in letters] == [mine]
    for path in ("/v1/jobs", "/v1/admin/dead-letters", "/v1/admin/lanes", "/v1/admin/limits"):
        problem(await api.get(path, headers, tenant_id="globex"), 403, "TENANT_FORBIDDEN")
    redriven = await api.post("/v1/admin/dead-letters:redrive", {}, headers)
    assert [item["jobId"] for item in redriven.json()["results"]] == [mine]
    named = await api.post("/v1/admin/outbox/retry", {"job_ids": [theirs]}, headers)
    problem(named, 404, "NOT_FOUND")
    limits = (await api.get("/v1/admin/limits", headers)).json()
    assert limits["system"] is None
    assert [one["tenant_id"] for one in limits["tenants"]] == ["acme"]


async def test_the_tenant_of_a_command_is_the_credentials(api: World) -> None:
    """A command for another tenant is refused alone and in a batch, whether the tenant exists or not."""
    headers = api.key(Role.SUBMIT, tenants={"acme"})
    for tenant in ("globex", "no-such-tenant"):
        answer = await api.post("/v1/orchestrate", valid(tenant_id=tenant), headers)
        problem(answer, 403, "TENANT_FORBIDDEN")
    batch = await api.post("/v1/orchestrate:batch", {"items": [valid(), valid(tenant_id="globex")]}, headers)
    assert [item["status"] for item in batch.json()["results"]] == [202, 403]


async def test_forged_keys_open_nothing(api: World) -> None:
    """Every forgery of a good key is 401, as header and as bearer."""
    good = api.key(*Role)["x-api-key"]
    assert (await api.get("/v1/jobs", {"authorization": f"Bearer {good}"})).status_code == 200
    for name, text in forged_keys(good).items():
        raw = text.encode("utf-8", "surrogatepass")
        if b"\x00" in raw:
            continue  # no HTTP server lets it through
        for headers in ({b"x-api-key": raw}, {b"authorization": b"Bearer " + raw}):
            answer = await api.client.get("/v1/jobs", headers=headers)
            assert answer.status_code == 401, name
    twice = {"x-api-key": good, "authorization": f"Bearer {good}"}
    problem(await api.get("/v1/jobs", twice), 401, "UNAUTHENTICATED")


async def test_forged_tokens_of_the_issuer_open_nothing(tmp_path: Path) -> None:
    """With an issuer configured its token is let in, every forgery of it is refused, nobody else comes in."""
    issuer, keys = the_issuer(), tmp_path / "jwks.json"
    keys.write_bytes(issuer.jwks())
    async with world(jwt_issuer=issuer.url, jwt_audience=issuer.audience, jwt_jwks=str(keys)) as api:
        good = issuer.token(nature.now_ms(), roles=["read", "submit"])
        assert (await api.get("/v1/jobs", {"authorization": f"Bearer {good}"})).status_code == 200
        assert await api.submit({"authorization": f"Bearer {good}"})
        problem(await api.get("/v1/jobs"), 401, "UNAUTHENTICATED")
        for name, text in forged_jwts(issuer, nature.now_ms()).items():
            if "nbf" in name:
                continue  # one second before its time: that one is judged where the test owns the clock
            raw = f"Bearer {text}".encode("utf-8", "surrogatepass")
            answer = await api.client.get("/v1/protocols", headers={b"authorization": raw})
            assert answer.status_code in {401, 403}, name  # 403: genuine, but it names no tenant or role


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "evil.example"}, "HOST_REFUSED"),
        ({"host": "127.0.0.1.evil.example:8700"}, "HOST_REFUSED"),
        ({"origin": "https://evil.example"}, "ORIGIN_REFUSED"),
        ({"origin": "null"}, "ORIGIN_REFUSED"),
        ({"origin": "http://127.0.0.1:9999"}, "ORIGIN_REFUSED"),
    ],
)
@pytest.mark.parametrize(
    "path", ["/v1/orchestrate", "/v1/directives:receive", "/v1/jobs", "/healthz", "/metrics"]
)
async def test_open_mode_serves_no_other_site(api: World, path: str, headers: dict, code: str) -> None:
    """Without credentials a request that names another host or comes from another page is refused."""
    posted = path.count("/") > 1 and path != "/v1/jobs"
    body: Any = (valid() if "orch" in path else {}) if posted else None
    answer = await api.client.request("POST" if posted else "GET", path, headers=headers, json=body)
    problem(answer, 403, code)
    fine = await api.client.request("POST" if posted else "GET", path, json=body)
    assert fine.status_code in {200, 202}


async def test_every_answer_is_private_and_plain(api: World) -> None:
    """No answer may be cached or sniffed, and none allows other origins."""
    routes = [("GET", "/healthz"), ("GET", "/v1/jobs"), ("POST", "/v1/orchestrate"), ("GET", "/nope")]
    for method, path in routes:
        answer = await api.client.request(method, path, json=valid() if method == "POST" else None)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_the_first_key_ends_webhooks_to_this_machine(api: World) -> None:
    """What only an open Lucius may call is refused from its first key on, without a restart."""
    local = ["http://127.0.0.1:9/hook"]
    assert (await api.post("/v1/orchestrate", valid(callback_urls=local))).status_code == 202
    new = valid(callback_urls=local, idempotency_key="new")  # the same command again would be a replay
    answer = await api.post("/v1/orchestrate", new, api.key(Role.SUBMIT))
    problem(answer, 422, "WEBHOOK_SCHEME")
