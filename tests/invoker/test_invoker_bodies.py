from __future__ import annotations

import json
from typing import Any

import pytest

from lucius.entrypoints.invoker.routes import CONTROL, ROUTES
from lucius.wire.internal import MAX_INTERNAL_BYTES
from tests.invoker.world import ATTEMPT, BODIES, DIRECTIVE, JOB_ID, NAMED, World

PATHS = sorted(BODIES)
ADVANCE, REPLIES = "/v1/internal/steps/advance", "/v1/internal/replies"


#: A good body with one change, and what the refusal points at.
WRONG: list[tuple[str, dict[str, Any], str]] = [
    (ADVANCE, {"known": -1}, "/known"),
    (ADVANCE, {"known": "3"}, "/known"),
    (ADVANCE, {"spread": 1}, "/spread"),
    (ADVANCE, {"jobId": ""}, "/jobId"),
    ("/v1/internal/steps/attempt", {"attempt_no": 0}, "/attempt_no"),
    ("/v1/internal/steps/attempt", {"lease_id": ""}, "/lease_id"),
    ("/v1/internal/steps/attempt", {"lease_expires_at": "tomorrow"}, "/lease_expires_at"),
    ("/v1/internal/steps/attempt", {"lease_expires_at": 1_769_508_120_000}, "/lease_expires_at"),
    ("/v1/internal/publish", {"lane": 16}, "/lane"),
    ("/v1/internal/publish", {"directive": []}, "/directive"),
    ("/v1/internal/publish", {"directive": {}}, "/directive/jobId"),
    ("/v1/internal/publish", {"directive": json.loads(DIRECTIVE) | {"lane": 99}}, "/directive/lane"),
    (REPLIES, {"reply": {"type": "DIRECTIVE"}}, "/reply/type"),
    (REPLIES, {"reply": {"type": "ACK"}}, "/reply/stepId"),
    (REPLIES, {"reply": {"type": "ACK", **ATTEMPT, "jobId": "another"}}, "/reply/jobId"),
    (REPLIES, {"reply": {"type": "ACK", **ATTEMPT, "tenant_id": "other"}}, "/reply/tenant_id"),
    (
        REPLIES,
        {"reply": {"type": "RESULT", **ATTEMPT, "status": "SUCCEEDED", "output_ref": {"uri": "x"}}},
        "/reply/output_ref/uri",
    ),
    (CONTROL, {"command": {"type": "explode"}}, "/command/type"),
    (CONTROL, {"command": {"type": "pause", "force": True}}, "/command/force"),
    (CONTROL, {"command": {"type": "give_up"}}, "/command/reason"),
    (CONTROL, {"limits": {"tenant_jobs": -1}}, "/limits/tenant_jobs"),
    (CONTROL, {"limits": {"tenants": 1}}, "/limits/tenants"),
    ("/v1/internal/jobs/republish", {"job_ids": ["j"] * 501}, "/job_ids"),
    ("/v1/internal/jobs/republish", {"job_ids": [1]}, "/job_ids/0"),
]


def _address(path: str) -> str:
    return path.replace("{jobId}", JOB_ID)


async def _refused(world: World, path: str, content: bytes, kind: str | None = "application/json") -> Any:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = await world.ask("POST", _address(path), content=content, headers=headers)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["kind"] == "Invalid"
    assert world.recorder.calls == []
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("path", PATHS)
async def test_hostile_bodies_stop_at_the_door(world: World, path: str) -> None:
    """What is not one strict JSON object of the right kind and size never reaches the invoker."""
    good = json.dumps(BODIES[path]).encode()
    first = json.dumps(next(iter(BODIES[path]))).encode()
    twice = b"{" + first + b": 1, " + good[1:]
    assert await _refused(world, path, good, "text/plain") == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert await _refused(world, path, good, None) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert await _refused(world, path, good, "application/json; charset=latin-1") == (
        415,
        "UNSUPPORTED_MEDIA_TYPE",
    )
    assert await _refused(world, path, good + b" " * MAX_INTERNAL_BYTES) == (413, "BODY_TOO_LARGE")
    assert await _refused(world, path, twice) == (422, "DUPLICATE_KEY")
    assert (await _refused(world, path, b""))[0] == 400
    assert (await _refused(world, path, good[:-1]))[0] == 400
    assert (await _refused(world, path, good + good))[0] == 400
    assert (await _refused(world, path, b"\xef\xbb\xbf" + good))[0] == 400
    assert (await _refused(world, path, b"[]"))[0] in {400, 422}
    assert (await _refused(world, path, b"[" * 100_000))[0] in {400, 422}
    assert (await _refused(world, path, good[:-1] + b', "x": ' + b"[" * 60 + b"]" * 60 + b"}"))[0] in {
        400,
        422,
    }


@pytest.mark.parametrize("path", PATHS)
async def test_fields_are_exact(world: World, path: str) -> None:
    """A field more, or a field that must be there and is not, is refused with a pointer to it."""
    more = await world.post(path, {**BODIES[path], "surprise": 1})
    assert (more.status_code, more.json()["errors"][0]["pointer"]) == (422, "/surprise")
    needed = next(iter(BODIES[path]))
    less = await world.post(path, {name: value for name, value in BODIES[path].items() if name != needed})
    assert (less.status_code, less.json()["errors"][0]["pointer"]) == (422, f"/{needed}")
    assert world.recorder.calls == []


async def test_a_streamed_body_has_the_same_limit(world: World) -> None:
    """A body that does not say how long it is, is cut off while it is read."""

    async def endless() -> Any:
        for _ in range(MAX_INTERNAL_BYTES // 65_536 + 2):
            yield b" " * 65_536

    headers = {"Content-Type": "application/json"}
    answer = await world.ask("POST", ADVANCE, content=endless(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "BODY_TOO_LARGE")


async def test_wrong_values_are_pointed_at(world: World) -> None:
    """A wrong value is refused with a pointer to it, and the invoker hears nothing of it."""
    for path, change, pointer in WRONG:
        answer = await world.post(path, BODIES[path] | change)
        found = [error["pointer"] for error in answer.json()["errors"]]
        assert (answer.status_code, found) == (422, [pointer]), change
    assert world.recorder.calls == []


async def test_methods_and_paths_are_exact(world: World) -> None:
    """Another method is 405 with the right one, another path 404; neither reaches the invoker."""
    for route in ROUTES:
        answer = await world.ask("PUT", _address(route.path), json={})
        assert (answer.status_code, answer.headers["allow"]) == (405, route.method)
    for path in (
        "/",
        "/v1/internal",
        "/v1/internal/jobs/a b/control",
        f"/v1/internal/jobs/{'x' * 65}/control",
    ):
        answer = await world.ask("POST", path, json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "UNKNOWN_ROUTE")
    assert world.recorder.calls == []


async def test_requests_are_counted_by_template(world: World) -> None:
    """Telemetry sees the route of a request, never the id somebody put into its path."""
    await world.post(CONTROL, BODIES[CONTROL])
    assert world.seen[-1]["route"].path == CONTROL


async def test_answers_are_guarded(world: World) -> None:
    """Nothing of the internal API is kept by a cache or guessed at by a browser."""
    for answer in (await world.post(ADVANCE, BODIES[ADVANCE]), await world.post(ADVANCE, NAMED)):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
