"""Schedules and hooks over HTTP, and the door where hooks are called."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook

from lucius.lifebook.triggers.hooks import MAX_BODY_BYTES
from lucius.runtime import nature
from lucius.security.principal import Role
from tests.api.world import NO_SUCH, problem
from tests.lifebook.api_world import JOBS, WORKSPACES, RunsWorld, runs_world

SCHEDULES, HOOKS = f"{WORKSPACES}/acme/schedules", f"{WORKSPACES}/acme/hooks"
OWN = "/v1/lifebook/schedules"
DOOR = "/v1/lifebook/hooks"
SCHEDULE = {"workflow_id": "three", "cron": "*/5  * * * *", "input": {"page": 1, "password": "hunter2"}}
HOOK = {"workflow_id": "three", "input": {"from": "shop", "api_key": "hunter2"}, "user_id": "ada"}


@pytest.fixture
async def runs() -> AsyncIterator[RunsWorld]:
    """A Lucius that takes runs."""
    async with runs_world() as found:
        yield found


async def made(
    runs: RunsWorld, path: str, body: dict[str, Any], headers: dict | None = None
) -> dict[str, Any]:
    """A new schedule or hook."""
    answer = await runs.api.post(path, body, headers)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def call(
    runs: RunsWorld, hook_id: str, secret: str, body: bytes = b'{"order": 1}', **more: str
) -> httpx2.Response:
    """A signed request; `more` takes the place of headers."""
    name = more.pop("webhook_id", "msg_1")
    at = datetime.fromtimestamp(nature.now_ms() // 1000, UTC)
    headers = {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(name, at, body.decode()),
    } | {name.replace("_", "-"): text for name, text in more.items()}
    return await runs.api.client.post(f"{DOOR}/{hook_id}", content=body, headers=headers)


async def test_a_schedule_is_made_shown_paused_resumed_and_removed(runs: RunsWorld) -> None:
    """What was made is in the list of its workspace until it is removed; secrets in its input are not."""
    one = await made(runs, SCHEDULES, SCHEDULE)
    expected = {"workspace_id": "acme", "user_id": "anonymous", "workflow_id": "three", "enabled": True}
    assert {name: one[name] for name in expected} == expected
    assert one["cron"] == "*/5 * * * *"
    assert one["input"]["page"] == 1
    assert "hunter2" not in str(one)
    assert one["created_at"] < one["next_at"]
    own = f"{OWN}/{one['schedule_id']}"
    paused = (await runs.api.post(f"{own}:pause")).json()
    assert paused == one | {"enabled": False, "next_at": None}
    assert (await runs.api.get(SCHEDULES)).json() == {"schedules": [paused]}
    assert (await runs.api.post(f"{own}:resume")).json()["enabled"]
    assert (await runs.api.get(f"{WORKSPACES}/globex/schedules")).json() == {"schedules": []}
    gone = await runs.api.client.delete(own)
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await runs.api.get(SCHEDULES)).json() == {"schedules": []}
    problem(await runs.api.client.delete(own), 404, "NOT_FOUND")
    problem(await runs.api.post(f"{own}:pause"), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"cron": "61 * * * *"}, "/cron", "INVALID_CRON"),
        ({"cron": "0 0 30 2 *"}, "/cron", "INVALID_CRON"),
        ({"cron": ""}, "/cron", "INVALID_REQUEST"),
        ({"workflow_id": "none"}, "/workflow_id", "UNKNOWN_WORKFLOW"),
        ({"input": {"x": "y" * 40_000}}, "/input", "INPUT_TOO_LARGE"),
        ({"when": "now"}, "/when", "INVALID_REQUEST"),
        ({"user_id": ""}, "/user_id", "INVALID_REQUEST"),
    ],
)
async def test_a_wrong_schedule_is_refused_with_a_pointer(
    runs: RunsWorld, change: dict[str, Any], pointer: str, code: str
) -> None:
    """The refusal says which field is wrong, and nothing is made."""
    told = problem(await runs.api.post(SCHEDULES, SCHEDULE | change), 422, code)
    assert [one["pointer"] for one in told["errors"]] == [pointer]
    assert (await runs.api.get(SCHEDULES)).json() == {"schedules": []}


async def test_the_secret_of_a_hook_is_told_once(runs: RunsWorld) -> None:
    """Whoever makes the hook learns it; no list shows it again."""
    one = await made(runs, HOOKS, HOOK)
    secret = one.pop("secret")
    assert secret.startswith("whsec_")
    assert one["path"] == f"{DOOR}/{one['hook_id']}"
    listed = await runs.api.get(HOOKS)
    assert listed.json() == {"hooks": [one]}
    assert secret not in listed.text
    assert "hunter2" not in listed.text
    assert (await runs.api.client.delete(one["path"])).status_code == 204
    assert (await runs.api.get(HOOKS)).json() == {"hooks": []}


async def test_a_signature_is_all_a_caller_needs(runs: RunsWorld) -> None:
    """With keys configured a signed request without one starts a run; sent again it is the same run."""
    admin = runs.api.key(*Role)
    hook = await made(runs, HOOKS, HOOK, admin)
    first = await call(runs, hook["hook_id"], hook["secret"])
    again = await call(runs, hook["hook_id"], hook["secret"])
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json() == first.json() | {"duplicate": True}
    assert first.json()["duplicate"] is False
    shown = await runs.shown(first.json()["job_id"], admin)
    assert (shown["trigger_type"], shown["user_id"], shown["input"]["payload"]) == (
        "webhook", "ada", {"order": 1},
    )  # fmt: skip
    problem(await runs.api.post(JOBS, {}), 401, "UNAUTHENTICATED")


async def test_unknown_hooks_and_wrong_signatures_give_the_same_bytes(runs: RunsWorld) -> None:
    """Forged, altered and stale requests, unknown and removed hooks: one answer, and no run."""
    hook, removed = [await made(runs, HOOKS, HOOK) for _ in range(2)]
    await runs.api.client.delete(removed["path"])
    own, secret = hook["hook_id"], hook["secret"]
    answers = [
        await call(runs, NO_SUCH, secret),
        await call(runs, "x" * 300, secret),
        await call(runs, "hook%23x", secret),
        await call(runs, removed["hook_id"], removed["secret"]),
        await call(runs, own, removed["secret"]),
        await call(runs, own, secret, webhook_signature="v1,AAAA"),
        await call(runs, own, secret, webhook_timestamp="1"),
        await call(runs, own, secret, webhook_signature=""),
        await runs.api.post(f"{DOOR}/{own}", {"order": 1}),
        await runs.api.post(f"{DOOR}/{own}", {"order": 1}, runs.api.key(*Role)),
    ]
    for answer in answers:
        problem(answer, 401, "UNAUTHENTICATED")
    assert len({answer.content for answer in answers}) == 1
    assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1
    listed = await runs.api.get(f"{WORKSPACES}/acme/jobs", runs.api.key(*Role))
    assert listed.json()["jobs"] == []


async def test_what_is_sent_to_a_hook_must_be_json_of_moderate_size(runs: RunsWorld) -> None:
    """Size and type are judged before the signature, content after it."""
    hook = await made(runs, HOOKS, HOOK)
    own, secret = hook["hook_id"], hook["secret"]
    problem(await call(runs, own, secret, content_type="text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE")
    large = b'{"x": "' + b"y" * MAX_BODY_BYTES + b'"}'
    problem(await call(runs, own, secret, large), 413, "BODY_TOO_LARGE")
    assert (await call(runs, own, secret, b"[1]")).status_code in {400, 422}
    assert (await call(runs, own, secret, b'{"a": 1, "a": 1}')).status_code in {400, 422}
    strange = await call(runs, own, secret, b"no json", webhook_signature="v1,AAAA")
    problem(strange, 401, "UNAUTHENTICATED")


async def test_a_genuine_call_is_refused_as_a_run_would_be(runs: RunsWorld) -> None:
    """Whoever has the secret learns that credits are missing."""
    hook = await made(runs, HOOKS, HOOK | {"workflow_id": "costly"})
    problem(await call(runs, hook["hook_id"], hook["secret"]), 402, "INSUFFICIENT_CREDITS")


async def test_an_open_lucius_takes_hooks_of_this_machine_only(runs: RunsWorld) -> None:
    """Without keys a call from another site, or under another name, is refused although it is signed."""
    hook = await made(runs, HOOKS, HOOK)
    own, secret = hook["hook_id"], hook["secret"]
    problem(await call(runs, own, secret, origin="https://evil.example"), 403, "ORIGIN_REFUSED")
    problem(await call(runs, own, secret, host="evil.example"), 403, "HOST_REFUSED")
    assert (await call(runs, own, secret)).status_code == 202


async def test_triggers_are_off_where_runs_are_off() -> None:
    """A Lucius without lifebook runs says so to those who may ask, and to callers of hooks."""
    async with runs_world(lifebook_backend="off") as off:
        for path in (SCHEDULES, HOOKS):
            problem(await off.api.get(path), 503, "LIFEBOOK_OFF")
        problem(await off.api.post(f"{DOOR}/{NO_SUCH}", {}), 503, "LIFEBOOK_OFF")
