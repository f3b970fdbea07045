from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import httpx2
import pytest
from stamina.instrumentation import set_on_retry_hooks

from lucius import sdk
from lucius.errors import (
    Broken,
    Forbidden,
    Invalid,
    LuciusError,
    NotFound,
    Refused,
    Saturated,
    Unauthenticated,
    Unavailable,
)

URL = "http://lucius.test"
JOB = {
    "jobId": "j1", "tenant_id": "acme", "request_type": "OCR", "state": "SUCCEEDED", "status": "SUCCEEDED",
    "version": 4, "a_field_of_tomorrow": 1,
    "steps": [{"step_id": "ocr", "state": "SUCCEEDED", "published_at": "2031-01-01T00:00:00Z"}],
}  # fmt: skip
HASTE = sdk.Patience(attempts=3, first_wait=0.001, longest_wait=0.002)


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    set_on_retry_hooks([])
    yield
    set_on_retry_hooks(None)


def client(handler: Callable[[httpx2.Request], httpx2.Response], key: str | None = None) -> sdk.Client:
    """A client of a server that is one function."""
    return sdk.Client(URL, key=key, transport=httpx2.MockTransport(handler), patience=HASTE)


def problem(status: int, code: str, **headers: str) -> httpx2.Response:
    """A refusal as Lucius writes it."""
    document = {
        "status": status,
        "code": code,
        "title": "No",
        "detail": "It does not go.",
        "errors": [{"pointer": "/tenant_id", "code": "BAD", "detail": "Wrong."}],
    }
    return httpx2.Response(status, json=document, headers=headers)


def test_an_answer_is_typed_and_may_know_more_than_the_client() -> None:
    """A server of a later version does not break an old client."""
    with client(lambda _: httpx2.Response(200, json=JOB)) as lucius:
        job = lucius.send(sdk.jobs.get("j1"))
        raw = lucius.raw(sdk.jobs.get("j1"))
    assert job.over
    assert job.steps[0].started_at == "2031-01-01T00:00:00Z"
    assert raw["a_field_of_tomorrow"] == 1


def test_ids_cannot_leave_their_place_in_the_path() -> None:
    """Whatever is in an id, it stays one segment of the path."""
    assert sdk.jobs.get("a/../b?c#d").path == "/v1/jobs/a%2F..%2Fb%3Fc%23d"
    assert sdk.jobs.cancel("a:b").path == "/v1/jobs/a%3Ab:cancel"


def test_a_key_is_sent_as_a_bearer_and_a_body_as_json() -> None:
    """A call carries its credential, its content type and its idempotency key."""
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(202, json={"jobId": "j1", "status": "QUEUED", "duplicate": True})

    with client(answer, key="lk_x") as lucius:
        receipt = lucius.send(sdk.commands.submit({"tenant_id": "acme"}, key="k1"))
    assert receipt.duplicate
    assert seen[0].headers["authorization"] == "Bearer lk_x"
    assert seen[0].headers["content-type"] == "application/json"
    assert seen[0].headers["idempotency-key"] == "k1"
    assert json.loads(seen[0].content) == {"tenant_id": "acme"}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "INVALID_CURSOR", Invalid),
        (401, "UNAUTHENTICATED", Unauthenticated),
        (403, "FORBIDDEN", Forbidden),
        (404, "NOT_FOUND", NotFound),
        (409, "INVALID_STATE", Refused),
        (422, "INVALID_ENVELOPE", Invalid),
        (429, "TENANT_SATURATED", Saturated),
        (500, "INTERNAL", Broken),
        (503, "SYSTEM_SATURATED", Saturated),
        (503, "UNAVAILABLE", Unavailable),
    ],
)
def test_every_problem_becomes_its_error(status: int, code: str, kind: type[LuciusError]) -> None:
    """A refusal arrives as the error it was on the other side, with its code and pointers."""
    with (
        client(lambda _: problem(status, code, **{"retry-after": "60"})) as lucius,
        pytest.raises(kind) as caught,
    ):
        lucius.send(sdk.jobs.get("j1"))
    assert (caught.value.code, caught.value.status, caught.value.message) == (code, status, "It does not go.")
    assert caught.value.problems[0].pointer == "/tenant_id"
    assert caught.value.retry_after == 60


@pytest.mark.parametrize(
    "response",
    [
        httpx2.Response(200, text="<html>"),
        httpx2.Response(404, text="nginx"),
        httpx2.Response(500, json=[1]),
        httpx2.Response(302, headers={"location": "http://elsewhere.test"}),
    ],
)
def test_a_stranger_is_recognised(response: httpx2.Response) -> None:
    """Something else on that port is called what it is, and not asked twice."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return response

    with client(answer) as lucius, pytest.raises(Unavailable) as caught:
        lucius.send(sdk.jobs.get("j1"))
    assert caught.value.code == "NOT_LUCIUS"
    assert len(asked) == 1


def test_a_server_that_comes_back_is_asked_again() -> None:
    """A repeatable call outlives a short absence."""
    good = httpx2.Response(200, json=JOB)
    answers: Iterator[httpx2.Response | Exception] = iter(
        [problem(503, "UNAVAILABLE", **{"retry-after": "0"}), httpx2.ReadError("gone"), good]
    )

    def answer(request: httpx2.Request) -> httpx2.Response:
        outcome = next(answers)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    with client(answer) as lucius:
        assert lucius.send(sdk.jobs.get("j1")).job_id == "j1"


@pytest.mark.parametrize("failure", [httpx2.ReadError("gone"), httpx2.ReadTimeout("slow")])
def test_a_call_that_may_have_been_done_is_not_done_twice(failure: Exception) -> None:
    """A cancel whose answer was lost is never sent again by itself, and the error says so."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        raise failure

    with client(answer) as lucius, pytest.raises(Unavailable, match="may have been done or not") as caught:
        lucius.send(sdk.jobs.cancel("j1"))
    assert caught.value.code == "ANSWER_LOST"
    assert len(asked) == 1


def test_a_call_that_surely_was_not_done_is_tried_again() -> None:
    """A connection that was refused never carried anything, so even a cancel may go again."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        raise httpx2.ConnectError("refused")

    with client(answer) as lucius, pytest.raises(Unavailable) as caught:
        lucius.send(sdk.jobs.cancel("j1"))
    assert caught.value.code == "SERVER_UNREACHABLE"
    assert len(asked) == HASTE.attempts


def test_a_long_retry_after_is_passed_on() -> None:
    """A client does not sleep for minutes on its own account."""
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return problem(429, "TENANT_SATURATED", **{"retry-after": "600"})

    with client(answer) as lucius, pytest.raises(Saturated):
        lucius.send(sdk.commands.submit({}))
    assert len(asked) == 1


@pytest.mark.parametrize("url", ["", "localhost:8700", "ftp://x", "http://"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    """A typing error in the URL is told before anything is sent."""
    with pytest.raises(Invalid, match=r"http://127\.0\.0\.1:8700"):
        sdk.Client(url)


async def test_the_asynchronous_client_sends_the_same_calls() -> None:
    """Both clients answer the same call with the same value."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=JOB))
    async with sdk.AsyncClient(URL, transport=transport) as lucius:
        job = await lucius.send(sdk.jobs.get("j1"))
    with client(lambda _: httpx2.Response(200, json=JOB)) as blocking:
        assert job == blocking.send(sdk.jobs.get("j1"))
