from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lucius.errors import (
    Broken,
    Forbidden,
    Invalid,
    LuciusError,
    NotFound,
    Problem,
    Refused,
    Saturated,
    Unauthenticated,
    Unavailable,
)
from lucius.security.redaction import redact_text
from tests.invoker.world import JOB_ID, TOKEN, World, calls, inviting, serving

#: The branches of the tree; not what adapters add for themselves.
KINDS = [kind for kind in LuciusError.__subclasses__() if kind.__module__ == LuciusError.__module__]


def _raised(kind: type[LuciusError]) -> LuciusError:
    """One error of a kind, with everything an error can say."""
    places = (Problem(pointer="/steps/0", code="ODD", message="Odd."),)
    waits = 7 if kind in {Saturated, Unavailable} else None
    return kind("So it is.", code="SO_IT_IS", problems=places, retry_after=waits)


def _said(error: LuciusError) -> tuple[Any, ...]:
    return (type(error), error.message, error.code, error.status, error.problems, error.retry_after)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_every_error_arrives_as_itself(world: World, kind: type[LuciusError]) -> None:
    """Whatever the invoker raises, whoever asked over HTTP catches the same class with the same words."""
    world.recorder.error = error = _raised(kind)
    async with world.client() as invoker:
        for name, call in calls(invoker).items():
            with pytest.raises(LuciusError) as caught:
                await call()
            assert _said(caught.value) == _said(error), name


async def test_a_status_of_its_own_survives(world: World) -> None:
    """A full system is Saturated with 503, and is not taken for an invoker that is away."""
    world.recorder.error = Saturated("Full.", code="SYSTEM_SATURATED", status=503, retry_after=9)
    async with world.client() as invoker:
        with pytest.raises(Saturated) as caught:
            await calls(invoker)["control"]()
    assert _said(caught.value) == _said(world.recorder.error)


async def test_a_class_below_the_tree_arrives_as_its_branch(world: World) -> None:
    """An adapter's own subclass of an error is told by the branch that everybody knows."""

    class LateError(Refused):
        """Too late."""

    world.recorder.error = ExceptionGroup("of a task group", [LateError("Late.")])
    async with world.client() as invoker:
        with pytest.raises(Refused, match="Late"):
            await calls(invoker)["attempt"]()


async def test_the_unforeseen_is_an_incident(world: World) -> None:
    """A bug in the invoker tells an incident id and nothing else, and counts as away."""
    world.recorder.error = RuntimeError("the secret is 42")
    async with world.client() as invoker:
        with pytest.raises(Unavailable, match="incident-1") as caught:
            await calls(invoker)["advance"]()
    assert caught.value.code == "INVOKER_UNAVAILABLE"
    assert "secret" not in caught.value.message


async def test_errors_say_when_to_try_again(world: World) -> None:
    """503 and 429 carry Retry-After for clients that are not ours, and are problem documents."""
    world.recorder.error = Unavailable("The bus is away.", code="BUS_AWAY", retry_after=3)
    answer = await world.post(f"/v1/internal/jobs/{JOB_ID}/control", {"command": {"type": "pause"}})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "BUS_AWAY"
    assert answer.json()["detail"] == "The bus is away."


async def test_a_token_that_does_not_fit_says_which_setting(world: World) -> None:
    """A wrong token is no outage: it is Forbidden, names the setting, and does not show the token."""
    async with world.client("another-token-altogether") as invoker:
        for call in calls(invoker).values():
            with pytest.raises(Forbidden, match="LUCIUS_INVOKER_TOKEN") as caught:
                await call()
            assert (caught.value.code, caught.value.status) == ("INVOKER_TOKEN_REFUSED", 503)
            assert "another-token" not in caught.value.message
            assert redact_text(caught.value.message) == caught.value.message, "the log shows all of it"
    assert world.recorder.calls == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"hello"),
        (200, b'{"standing": 1, "now": "soon"}'),
        (200, b"[" * 100_000),
        (204, b""),
        (302, b""),
        (404, b'{"code": "UNKNOWN_ROUTE", "status": 404, "detail": "No."}'),
        (422, b'{"code": "X", "status": 422, "kind": "Nonsense"}'),
        (500, b"<html>"),
        (502, b'{"code": 5}'),
        (503, b"\xff"),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_answers_of_others_are_an_outage(status: int, body: bytes) -> None:
    """What does not answer as an invoker does is Unavailable, by its address; redirects are not followed."""
    asked = []

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        headers = [(b"location", b"/elsewhere")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async with serving(app) as url, inviting(url) as invoker:
        with pytest.raises(Unavailable, match=url) as caught:
            await calls(invoker)["advance"]()
    assert caught.value.code == "INVOKER_UNAVAILABLE"
    assert asked == ["/v1/internal/steps/advance"]


async def test_silence_is_an_outage(world: World) -> None:
    """An invoker that takes too long is Unavailable; it may have done it, so no other one is asked."""
    world.recorder.gate = asyncio.Event()
    async with inviting(f"{world.url},{world.url}", timeout=0.3) as invoker:
        with pytest.raises(Unavailable, match="in time"):
            await calls(invoker)["advance"]()
    world.recorder.gate.set()
    assert len(world.recorder.calls) == 1


async def test_a_cut_connection_is_an_outage() -> None:
    """An invoker that dies while it is asked is Unavailable, and nobody else is asked for it."""
    accepted = 0

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with inviting(f"{url},{url}") as invoker:
            with pytest.raises(Unavailable, match="lost") as caught:
                await calls(invoker)["advance"]()
    assert (caught.value.code, accepted) == ("INVOKER_UNAVAILABLE", 1)


@pytest.mark.parametrize(
    "urls",
    [
        "",
        " , ",
        "127.0.0.1:8710",
        "ftp://host",
        "http://",
        "http://me:pass@host",
        "http://h?x=1",
        "http://[::1",
    ],
)
def test_addresses_are_judged_at_once(urls: str) -> None:
    """An address that cannot be asked, or that holds a password, is refused before anything runs."""
    with pytest.raises(Invalid) as caught:
        inviting_now(urls, TOKEN)
    assert caught.value.code == "BAD_INVOKER_URL"
    assert "pass@" not in caught.value.message


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ümlaut"])
def test_a_token_that_fits_no_header_is_refused_at_once(token: str) -> None:
    """A client without a usable token is not built."""
    with pytest.raises(Invalid) as caught:
        inviting_now("http://127.0.0.1:1", token)
    assert caught.value.code == "BAD_INVOKER_TOKEN"


def inviting_now(urls: str, token: str) -> None:
    """Build a client and nothing else."""
    from lucius.adapters.invokers.http import HttpInvoker

    HttpInvoker(urls, token)


def test_the_tree_is_covered() -> None:
    """The classes above are all the branches there are."""
    assert set(KINDS) == {
        Broken, Forbidden, Invalid, NotFound, Refused, Saturated, Unauthenticated, Unavailable,
    }  # fmt: skip
