from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from stamina.instrumentation import set_on_retry_hooks

from lucius import sdk
from lucius.errors import LuciusError, NotFound, Unavailable

URL = "http://lucius.test"
KINDS = ["job.accepted", "attempt.created", "directive.published", "step.acknowledged", "job.succeeded"]
STORY: list[dict[str, Any]] = [
    {"seq": number, "type": kind, "at": "2031-01-01T00:00:00.000Z", "extra": number}
    for number, kind in enumerate(KINDS, start=1)
]


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    set_on_retry_hooks([])
    yield
    set_on_retry_hooks(None)


class Server:
    """Tells STORY in stretches of `stretch` events; after each stretch it ends as `endings` say."""

    def __init__(self, stretch: int, endings: list[Exception | None]) -> None:
        self.stretch = stretch
        self.endings = endings
        self.resumed_after: list[int] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """The stream, or the job when that is asked for."""
        after = int(request.headers.get("last-event-id", "0"))
        if not request.url.path.endswith("/events"):
            over = bool(self.resumed_after) and self.resumed_after[-1] + self.stretch >= len(STORY)
            state = "SUCCEEDED" if over else "IN_PROGRESS"
            job = {"jobId": "j", "tenant_id": "a", "request_type": "OCR", "state": state, "status": state}
            return httpx2.Response(200, json=job)
        self.resumed_after.append(after)
        told = STORY[after : after + self.stretch]
        ending = self.endings.pop(0) if self.endings else None
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, stream=Stream(told, ending)
        )


class Stream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """Some events, then an end or a break."""

    def __init__(self, told: list[dict[str, Any]], ending: Exception | None) -> None:
        self.told = told
        self.ending = ending

    def __iter__(self) -> Iterator[bytes]:
        yield b": still here\n\n"
        for event in self.told:
            yield f"id: {event['seq']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        if self.ending is not None:
            raise self.ending

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part


def test_no_event_is_missed_or_told_twice_across_breaks() -> None:
    """A follower whose connection breaks comes back with Last-Event-ID and tells the story once."""
    server = Server(2, [httpx2.ReadError("gone"), httpx2.RemoteProtocolError("restart")])
    breaks: list[LuciusError] = []
    with sdk.Client(URL, transport=httpx2.MockTransport(server)) as lucius:
        told = list(lucius.follow("j", on_break=breaks.append))
    assert [event.seq for event in told] == [1, 2, 3, 4, 5]
    assert told[2].more == STORY[2]
    assert server.resumed_after == [0, 2, 4]
    assert [error.code for error in breaks] == ["ANSWER_LOST", "ANSWER_LOST"]


def test_a_stream_that_ends_early_is_taken_up_again() -> None:
    """A server that drains closes its streams; the follower goes on with the next one."""
    server = Server(3, [None])
    with sdk.Client(URL, transport=httpx2.MockTransport(server)) as lucius:
        assert [event.seq for event in lucius.follow("j")] == [1, 2, 3, 4, 5]
    assert server.resumed_after == [0, 3]


def test_a_job_that_is_over_has_nothing_more_to_tell() -> None:
    """Following a finished job from its last event on ends at once."""
    with sdk.Client(URL, transport=httpx2.MockTransport(lambda _: httpx2.Response(204))) as lucius:
        assert list(lucius.follow("j", after=5)) == []


def test_a_job_that_is_not_there_is_not_waited_for() -> None:
    """What cannot get better by itself is raised at once."""
    gone = httpx2.MockTransport(lambda _: httpx2.Response(404, json={"code": "NOT_FOUND", "detail": "No."}))
    with sdk.Client(URL, transport=gone) as lucius, pytest.raises(NotFound):
        list(lucius.follow("j"))


def test_a_server_that_stays_away_is_given_up() -> None:
    """Patience ends: a follower does not hang for ever on a server that is gone."""

    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with (
        sdk.Client(URL, transport=httpx2.MockTransport(refuse)) as lucius,
        pytest.raises(Unavailable) as caught,
    ):
        list(lucius.follow("j", patience=0.2))
    assert caught.value.code == "SERVER_UNREACHABLE"


def test_following_ends_when_the_time_is_up() -> None:
    """A follower with a limit stops at it, with what it has heard so far."""
    server = Server(0, [])
    with sdk.Client(URL, transport=httpx2.MockTransport(server)) as lucius:
        assert list(lucius.follow("j", within=0.2)) == []


def test_a_follower_may_leave_in_the_middle() -> None:
    """Whoever stops reading stops following, without another request."""
    server = Server(5, [])
    with sdk.Client(URL, transport=httpx2.MockTransport(server)) as lucius:
        following = lucius.follow("j")
        assert next(following).seq == 1
        following.close()  # type: ignore[attr-defined]
    assert server.resumed_after == [0]


async def test_the_asynchronous_client_follows_as_well() -> None:
    """Both clients tell the same story across the same breaks."""
    server = Server(2, [httpx2.ReadError("gone")])
    async with sdk.AsyncClient(URL, transport=httpx2.MockTransport(server)) as lucius:
        told = [event.seq async for event in lucius.follow("j")]
    assert told == [1, 2, 3, 4, 5]
    assert server.resumed_after == [0, 2, 4]
