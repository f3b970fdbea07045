"""What the HTTP transport sends, byte by byte, and how it takes trouble: against a double of Lucius."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lucius.errors import Forbidden, Invalid, LuciusError, NotFound, Unauthenticated, Unavailable
from lucius.sdk.serving import replies
from lucius.sdk.transports import HttpTransport
from lucius.wire.messages import DirectiveMessage
from tests.transports.double import Asked, Double, agreeable, double, once, problem
from tests.transports.worlds import NOW, done, http_transport, sample_directive

KEY = "the-key-of-the-service"


@pytest.fixture
async def lucius() -> AsyncIterator[Double]:
    """A double that says yes to everything, until told otherwise."""
    async with double() as found:
        yield found


@pytest.fixture
async def transport(lucius: Double) -> AsyncIterator[HttpTransport]:
    """A transport with a key, and pauses that are none."""
    found = http_transport(lucius.url, KEY, sleep=_at_once)
    yield found
    await found.close()


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


def _directive(base: str, number: int = 1, **more: Any) -> DirectiveMessage:
    urls = {kind: f"{base}/v1/callbacks/{kind}" for kind in ("ack", "heartbeat", "result")}
    usual: dict[str, Any] = {"callback_urls": urls, "callback_token": f"token-{number}"}
    return sample_directive(f"job-{number}", **usual | more)


async def test_the_key_goes_to_lucius_only(lucius: Double, transport: HttpTransport) -> None:
    """The service's key is sent for directives and never with a reply, alone or in a batch."""
    await transport.receive(["OCR"], limit=1, wait=0)
    await transport.complete(["lock"])
    async with double() as elsewhere:
        first, *many = [_directive(elsewhere.url, number) for number in range(3)]
        await transport.reply(first, done(first))
        await asyncio.gather(*(transport.reply(one, done(one)) for one in many))
    assert {one.headers["authorization"] for one in lucius.asked} == {f"Bearer {KEY}"}
    single, batch = elsewhere.asked
    assert single.headers["authorization"] == "Bearer token-0"
    assert "authorization" not in batch.headers
    assert [one["callback_token"] for one in batch.body["replies"]] == ["token-1", "token-2"]
    assert KEY not in repr(elsewhere.asked)


@pytest.mark.parametrize(
    "named", [None, {}, "ftp://127.0.0.1", "file:///etc", "http://", "http://[", "javascript:x"]
)
async def test_only_web_addresses_are_trusted(
    lucius: Double, transport: HttpTransport, named: str | dict[str, str] | None
) -> None:
    """A directive without a usable callback URL is answered where it came from, still without the key."""
    directive = _directive(named) if isinstance(named, str) else _directive("", callback_urls=named)
    assert (await transport.reply(directive, done(directive))).verdict == "accepted"
    assert [(one.path, one.headers["authorization"]) for one in lucius.asked] == [
        ("/v1/callbacks/result", "Bearer token-1")
    ]


async def test_what_waits_meanwhile_is_one_request(lucius: Double, transport: HttpTransport) -> None:
    """The first reply leaves at once; those that come while it is under way leave together after it."""
    lucius.gate.clear()
    alone, *many = [_directive(lucius.url, number) for number in range(600)]
    first = asyncio.create_task(transport.reply(alone, done(alone)))
    await lucius.until_asked(1)
    assert lucius.paths() == {"/v1/callbacks/result": 1}
    asking = [asyncio.create_task(transport.reply(one, done(one))) for one in many]
    await asyncio.sleep(0)
    lucius.gate.set()
    heard = await asyncio.gather(first, *asking)
    assert {one.verdict for one in heard} == {"accepted"}
    assert [len(one.body["replies"]) for one in lucius.asked[1:]] == [500, 99]


async def test_settlements_are_gathered_too(lucius: Double, transport: HttpTransport) -> None:
    """Completed, abandoned and refused locks that come up together are one request."""
    lucius.gate.clear()
    first = asyncio.create_task(transport.complete(["a", "b"]))
    await lucius.until_asked(1)
    others = [transport.complete(["c"]), transport.abandon(["d"]), transport.refuse("e", "why")]
    waiting = [asyncio.create_task(each) for each in others]
    await asyncio.sleep(0)
    lucius.gate.set()
    await asyncio.gather(first, *waiting)
    assert [one.body["settlements"] for one in lucius.asked] == [
        [{"lock_token": "a", "outcome": "complete"}, {"lock_token": "b", "outcome": "complete"}],
        [
            {"lock_token": "c", "outcome": "complete"},
            {"lock_token": "d", "outcome": "abandon"},
            {"lock_token": "e", "outcome": "dead_letter", "reason": "why"},
        ],
    ]


async def test_replies_to_different_places_are_not_mixed(lucius: Double, transport: HttpTransport) -> None:
    """A token is sent only to the address its own directive names."""
    async with double() as other:
        many = [_directive((lucius, other)[number % 2].url, number) for number in range(10)]
        await asyncio.gather(*(transport.reply(one, done(one)) for one in many))
    assert sum(lucius.paths().values()) == sum(other.paths().values()) == 1
    seen = repr(other.asked)
    assert [number for number in range(10) if f"token-{number}" in seen] == [1, 3, 5, 7, 9]


async def test_without_batch_replies_go_one_by_one(lucius: Double, transport: HttpTransport) -> None:
    """Where there is no batch route, it is asked for once, and every reply still arrives."""
    lucius.answer = lambda asked: (404, {}) if asked.path.endswith("batch") else agreeable(asked)
    for _ in range(2):
        many = [_directive(lucius.url, number) for number in range(5)]
        heard = await asyncio.gather(*(transport.reply(one, done(one)) for one in many))
        assert {one.verdict for one in heard} == {"accepted"}
    assert lucius.paths() == {"/v1/callbacks/result": 10, "/v1/callbacks/batch": 1}


@pytest.mark.parametrize(
    "trouble",
    [
        (500, {}),
        problem(500, "INTERNAL"),
        problem(503, "AWAY"),
        (502, "<html>"),
        problem(429, "TENANT_SATURATED"),
        (404, "<html>"),
        (200, "<html>"),
    ],
)
async def test_trouble_that_passes_is_waited_out(
    lucius: Double, transport: HttpTransport, trouble: tuple[int, object]
) -> None:
    """5xx, 429 and answers that are not of Lucius are followed by the same reply again."""
    lucius.answer = once(trouble, trouble)
    directive = _directive(lucius.url)
    assert (await transport.reply(directive, done(directive))).verdict == "accepted"
    assert len(lucius.asked) == 3
    assert [one.body for one in lucius.asked] == [lucius.asked[0].body] * 3


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, Unauthenticated), (403, Forbidden), (404, NotFound), (413, Invalid), (422, Invalid)],
)
async def test_a_refusal_is_final(
    lucius: Double, transport: HttpTransport, status: int, error: type[LuciusError]
) -> None:
    """What Lucius refuses is raised in its own words and not sent again."""
    lucius.answer = lambda _: problem(status, "BECAUSE", "It is so.")
    directive = _directive(lucius.url)
    with pytest.raises(error, match="It is so") as refused:
        await transport.reply(directive, done(directive))
    assert (refused.value.code, len(lucius.asked)) == ("BECAUSE", 1)


async def test_patience_ends_at_the_deadline(lucius: Double) -> None:
    """A reply is repeated until the given time and not longer; then it is `Unavailable`."""
    lucius.answer = lambda _: problem(500, "INTERNAL", "It broke.")
    now = [NOW]

    async def pause(seconds: float) -> None:
        now[0] += int(seconds * 1000)

    transport = http_transport(lucius.url, clock=lambda: now[0], sleep=pause)
    directive = _directive(lucius.url)
    with pytest.raises(Unavailable, match="It broke"):
        await transport.reply(directive, done(directive), until=NOW + 60_000)
    tries = len(lucius.asked)
    assert 20 < tries < 80
    assert NOW + 50_000 < now[0] <= NOW + 60_000
    with pytest.raises(Unavailable):
        await transport.reply(directive, done(directive), until=NOW)
    assert len(lucius.asked) == tries + 1
    await transport.close()


async def test_a_cancelled_reply_leaves_the_others_to_the_next(
    lucius: Double, transport: HttpTransport
) -> None:
    """When the one that sends for all is cancelled, those who waited with it are heard all the same."""
    lucius.gate.clear()
    many = [_directive(lucius.url, number) for number in range(4)]
    asking = [asyncio.create_task(transport.reply(one, done(one))) for one in many]
    await lucius.until_asked(1)
    asking[0].cancel()
    await lucius.until_asked(2)
    assert len(lucius.asked[1].body["replies"]) == 3
    asking[1].cancel()
    asking[3].cancel()
    await lucius.hung_up.wait()
    lucius.hung_up.clear()
    lucius.gate.set()
    assert (await asking[2]).verdict == "accepted"
    assert [one.cancelled() for one in asking] == [True, True, False, True]


async def test_a_cancelled_receive_hangs_up(lucius: Double, transport: HttpTransport) -> None:
    """Cancelling closes the connection, so that the other side learns of it."""
    lucius.gate.clear()
    waiting = asyncio.create_task(transport.receive(["OCR"], limit=500, wait=99.0))
    await lucius.until_asked(1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await lucius.hung_up.wait()
    assert waiting.cancelled()
    assert lucius.asked[0].body == {"step_types": ["OCR"], "max": 100, "wait_seconds": 30.0}


async def test_a_failing_lucius_is_unavailable_to_receivers(lucius: Double, transport: HttpTransport) -> None:
    """A 500 to `receive` is something to try again later, not the end of the service."""
    lucius.answer = once(problem(500, "INTERNAL"))
    with pytest.raises(Unavailable):
        await transport.receive(["OCR"], limit=1, wait=0)
    assert await transport.receive(["OCR"], limit=1, wait=0) == []


async def test_an_answer_of_the_wrong_length_is_not_trusted(lucius: Double, transport: HttpTransport) -> None:
    """A batch answered with too few results is sent again rather than guessed at."""
    short = iter([True])

    def answer(asked: Asked) -> tuple[int, object]:
        if asked.path.endswith("batch") and next(short, False):
            return 200, {"results": []}
        return agreeable(asked)

    lucius.answer = answer
    many = [_directive(lucius.url, number) for number in range(3)]
    heard = await asyncio.gather(*(transport.reply(one, replies.ack(one, NOW)) for one in many))
    assert [one.verdict for one in heard] == ["accepted"] * 3


async def test_no_proxy_stands_between_a_machine_and_itself(
    lucius: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy named in the environment is not asked for an address of this machine."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    transport = http_transport(lucius.url, patience=0.0)
    directive = _directive(lucius.url)
    assert await transport.receive(["OCR"], limit=1, wait=0) == []
    assert (await transport.reply(directive, done(directive))).verdict == "accepted"
    await transport.close()
