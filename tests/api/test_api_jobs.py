"""Looking at jobs: views, lists, stories, streams, control."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lucius.core.states import JobState
from lucius.entrypoints.api.stream import _lines
from lucius.testing.hostile import valid
from tests.api.world import World, problem

JOB_FIELDS = {
    "jobId", "tenant_id", "protocol_id", "request_type", "doc_id", "mode", "tenant_bucket", "state",
    "status", "current_step_id", "current_step_index", "attempts_total", "created_at", "updated_at",
    "completed_at", "error_code", "error_message", "correlation_id", "traceparent", "final_output",
    "idempotency_key", "idempotency_hash", "lane", "decision_source",
}  # fmt: skip
STEP_FIELDS = {
    "step_id", "step_index", "step_type", "service", "state", "status", "attempt_no", "lease_id",
    "lease_expires_at", "lane", "routing_key_used", "input_ref", "workspace_ref", "output_ref",
    "payload", "resolved_mode", "decision_source", "decision_reason", "result_ref", "last_error_code",
    "last_error_message", "created_at", "updated_at", "completed_at",
}  # fmt: skip
STREAM = {"accept": "text/event-stream"}


async def test_views_have_every_field_of_the_ledger_contract(api: World) -> None:
    """Job and step views name every field of the job and step rows."""
    job_id = await api.submit(doc_id="d-1", traceparent=f"00-{'a' * 32}-{'b' * 16}-01")
    await api.sent(job_id)
    job = (await api.get(f"/v1/jobs/{job_id}")).json()
    assert JOB_FIELDS - job.keys() == set()
    assert STEP_FIELDS - job["steps"][0].keys() == set()
    steps = (await api.get(f"/v1/jobs/{job_id}/steps")).json()
    assert (steps["jobId"], steps["steps"]) == (job_id, job["steps"])


async def test_secrets_in_payloads_and_errors_are_not_shown(api: World) -> None:
    """What looks like a secret is masked wherever clients' and services' words are shown."""
    job_id = await api.fail(payload={"api_key": "hunter2"})
    for path in ("", "/steps", "/events", "/explain"):
        assert "hunter2" not in (await api.get(f"/v1/jobs/{job_id}{path}")).text
    assert "hunter2" not in (await api.get("/v1/jobs")).text
    assert "hunter2" not in (await api.get("/v1/admin/dead-letters")).text


async def test_pages_fit_together(api: World) -> None:
    """Following cursors shows every job once, newest first, while new jobs keep coming."""
    made = [await api.submit(idempotency_key=f"k{number}") for number in range(7)]
    seen: list[str] = []
    cursor: dict = {}
    while True:
        page = (await api.get("/v1/jobs", limit=2, **cursor)).json()
        assert len(page["jobs"]) <= 2
        seen += [job["jobId"] for job in page["jobs"]]
        await api.submit(idempotency_key=f"late{len(seen)}")
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == made[::-1]


async def test_a_cursor_of_another_list_is_refused(api: World) -> None:
    """A cursor belongs to its filters; with others, or made up, it is 400."""
    for number in range(3):
        await api.submit(idempotency_key=f"k{number}")
    cursor = (await api.get("/v1/jobs", limit=2)).json()["next_cursor"]
    problem(await api.get("/v1/jobs", cursor=cursor, state="QUEUED"), 400, "INVALID_CURSOR")
    for garbage in ("x", "%%%", cursor[:-2], "é", "WzEsMiwzXQ", "bnVsbA", cursor + cursor):
        problem(await api.get("/v1/jobs", cursor=garbage), 400, "INVALID_CURSOR")
    assert (await api.get("/v1/jobs", cursor=cursor, limit=200)).status_code == 200


async def test_filters_find_what_they_name(api: World) -> None:
    """Each filter of the list narrows it, alone and with others."""
    one = await api.submit(doc_id="d1", correlation_id="c1")
    two = await api.submit(tenant_id="globex", request_type="SIS", correlation_id="c2")
    await api.post(f"/v1/jobs/{two}:cancel?force=true")

    async def ids(**filters: Any) -> list[str]:
        answer = await api.get("/v1/jobs", **filters)
        assert answer.status_code == 200, answer.text
        return [job["jobId"] for job in answer.json()["jobs"]]

    assert await ids() == [two, one]
    assert await ids(tenant_id="ACME") == [one]
    assert await ids(state="CANCELLED") == await ids(status="CANCELLED") == [two]
    assert await ids(status=["QUEUED", "CANCELLED"]) == [two, one]
    assert await ids(state="CANCELLED", status="QUEUED") == []
    assert await ids(request_type="SIS") == await ids(correlation_id="c2") == [two]
    assert await ids(doc_id="d1") == [one]
    created = (await api.get(f"/v1/jobs/{one}")).json()["created_at"]
    assert await ids(created_before=created) == []
    assert set(await ids(created_from=created)) == {one, two}


@pytest.mark.parametrize(
    ("filters", "pointer"),
    [
        ({"limit": 201}, "/query/limit"),
        ({"limit": "many"}, "/query/limit"),
        ({"state": "DONE"}, "/query/state/0"),
        ({"created_from": "yesterday"}, "/query/created_from"),
        ({"created_from": "2026-01-27T10:02:00"}, "/query/created_from"),
        ({"tenant_id": "no such/tenant"}, "/query/tenant_id"),
        ({"tenent_id": "acme"}, "/query/tenent_id"),
    ],
)
async def test_wrong_filters_are_pointed_at(api: World, filters: dict, pointer: str) -> None:
    """A filter that cannot be read, or that does not exist, is 422 with its name."""
    answer = await api.get("/v1/jobs", **filters)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


async def test_events_come_in_pages_without_gaps(api: World) -> None:
    """`after` and `limit` walk through a story without missing or repeating an event."""
    job_id = await api.fail()
    path, seen, after = f"/v1/jobs/{job_id}/events", [], 0
    while True:
        page = (await api.get(path, after=after, limit=2)).json()
        seen += [event["seq"] for event in page["events"]]
        after = page["next_after"]
        if not page["more"]:
            break
    assert seen == list(range(1, len(seen) + 1))
    types = [event["type"] for event in (await api.get(path)).json()["events"]]
    assert types[0] == "job.accepted"
    assert types[-1] == "job.failed"


def read_stream(text: str) -> list[tuple[int, str, dict]]:
    """(id, event, data) of each message."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in lines:
            found.append((int(lines["id"]), lines["event"], json.loads(lines["data"])))
    return found


async def test_a_stream_follows_a_job_to_its_last_word(api: World) -> None:
    """A stream opened before anything happens shows every event once and ends with the terminal one."""
    job_id = await api.submit()
    following = asyncio.create_task(api.get(f"/v1/jobs/{job_id}/events", STREAM))
    (lent,) = await api.take("OCR")
    await api.say("ack", lent["directive"])
    await api.say("result", lent["directive"], status="SUCCEEDED")
    answer = await following
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    messages = read_stream(answer.text)
    assert [number for number, _, _ in messages] == list(range(1, len(messages) + 1))
    assert messages[-1][1] == "job.succeeded"
    assert all(data["type"] == name and data["seq"] == number for number, name, data in messages)


async def test_a_stream_goes_on_where_it_was_cut(api: World) -> None:
    """Last-Event-ID continues behind that event; behind the last one there is nothing to wait for."""
    job_id = await api.fail()
    path = f"/v1/jobs/{job_id}/events"
    whole = read_stream((await api.get(path, STREAM)).text)
    rest = read_stream((await api.get(path, STREAM | {"last-event-id": "3"})).text)
    assert rest == whole[3:]
    over = await api.get(path, STREAM | {"last-event-id": str(whole[-1][0])})
    assert (over.status_code, over.text) == (204, "")
    for wrong in ("-1", "x", "1e3", "9" * 30):
        problem(await api.get(path, STREAM | {"last-event-id": wrong}), 422, "INVALID_LAST_EVENT_ID")


async def test_a_stream_ends_when_lucius_goes_down(api: World) -> None:
    """A follower of an open job is sent home at the drain instead of holding it up."""
    job_id = await api.submit()
    following = asyncio.create_task(api.get(f"/v1/jobs/{job_id}/events", STREAM))
    while not api.lucius.hub._followers:
        await asyncio.sleep(0)
    api.lucius.hub.close()
    assert (await following).status_code == 200
    assert not api.lucius.hub._followers


async def test_a_quiet_stream_shows_that_it_is_alive(api: World) -> None:
    """When nothing happens for a while a follower gets an empty page, which goes out as a comment."""
    job_id = await api.submit()
    await api.sent(job_id)
    job = await api.lucius.ledger.job(job_id)
    assert job is not None
    pages = api.api.state.services.query.follow(job, after=job.version, beat=0.001)
    assert await anext(pages) == []
    assert [chunk async for chunk in _first_two(_lines(pages))] == [b"retry: 2000\n\n", b": still here\n\n"]


async def _first_two(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for _ in range(2):
        yield await anext(chunks)


async def test_control_moves_a_job_and_refuses_what_cannot_be(api: World) -> None:
    """Pause, resume and cancel answer with the job; a terminal job answers 409."""
    job_id = await api.submit()
    paused = await api.post(f"/v1/jobs/{job_id}:pause")
    assert (paused.status_code, paused.json()["state"]) in {(200, "PAUSED"), (202, "PAUSING")}
    resumed = await api.post(f"/v1/jobs/{job_id}:resume")
    assert (resumed.status_code, resumed.json()["status"]) == (200, "QUEUED")
    cancelled = await api.post(f"/v1/jobs/{job_id}:cancel?force=true", {"reason": "token=hunter2"})
    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "CANCELLED")
    for verb in ("pause", "resume"):
        problem(await api.post(f"/v1/jobs/{job_id}:{verb}"), 409, "JOB_TERMINAL")
    assert (await api.post(f"/v1/jobs/{job_id}:cancel")).status_code == 200
    story = (await api.get(f"/v1/jobs/{job_id}/events")).json()["events"]
    reasons = [event["reason"] for event in story if event["type"] == "job.cancelled"]
    assert len(reasons) == 1
    assert "hunter2" not in reasons[0]


async def test_a_retry_is_one_new_job_however_often_it_is_asked_for(api: World) -> None:
    """Retrying a failed job makes a new one that names its ancestor; asking again finds it."""
    job_id = await api.fail()
    first = await api.post(f"/v1/jobs/{job_id}:retry")
    assert first.status_code == 202
    new_id = first.json()["jobId"]
    assert first.headers["location"] == f"/v1/jobs/{new_id}"
    assert (await api.post(f"/v1/jobs/{job_id}:retry")).json()["jobId"] == new_id
    assert (await api.get(f"/v1/jobs/{new_id}")).json()["ancestor_id"] == job_id
    problem(await api.post(f"/v1/jobs/{new_id}:retry"), 409, "JOB_NOT_RETRYABLE")


async def test_webhook_deliveries_are_shown_without_secrets(api: World) -> None:
    """The delivery log of a job lists each event for each URL, the URL without its query."""
    url = "https://hooks.example.com/in?key=hunter2"
    answer = await api.post("/v1/orchestrate", valid(callback_urls=[url]))
    path = f"/v1/jobs/{answer.json()['jobId']}/deliveries"
    (delivery,) = (await api.get(path)).json()["deliveries"]
    assert (delivery["seq"], delivery["event_type"]) == (1, "lucius.job.accepted")
    assert delivery["url"].startswith("https://hooks.example.com/")
    assert "hunter2" not in delivery["url"]


async def test_states_of_the_view_are_the_states_of_the_core(api: World) -> None:
    """The document lists exactly the states a job can be in."""
    schemas = (await api.get("/openapi.json")).json()["components"]["schemas"]
    assert set(schemas["JobState"]["enum"]) == {state.value for state in JobState}
