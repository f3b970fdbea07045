from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

import anyio
import pytest

from lucius.testing.ssrf import HOSTILE_URLS, HostileUrl
from lucius.webhooks.guard import Policy
from lucius.webhooks.post import Answer, Poster

Serve = Callable[..., Awaitable[Any]]
HOST = "hooks.example.com"


class Turns:
    """A resolver whose answer changes with every question."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """The next answer."""
        self.asked.append(host)
        return self.answers.pop(0)


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every address the HTTP stack dials; none of them answers, and nobody may use the system's DNS."""
    hosts: list[str] = []

    async def refuse(remote_host: str, remote_port: int, **_: object) -> NoReturn:
        hosts.append(remote_host)
        raise ConnectionRefusedError

    def no_dns(*_: object, **__: object) -> NoReturn:
        raise AssertionError("somebody resolved a name a second time")

    monkeypatch.setattr(anyio, "connect_tcp", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", no_dns)
    return hosts


async def test_rebinding_resolver_cannot_move_the_connection(dialled: list[str]) -> None:
    """First answer public, second private: one question is asked and only the judged address is dialled."""
    resolver = Turns(("93.184.216.34",), ("10.0.0.1",))
    answer = await Poster(policy=Policy, resolver=resolver).post(f"https://{HOST}/in", {}, b"{}")
    assert (answer.code, dialled, resolver.asked) == ("CONNECT_FAILED", ["93.184.216.34"], [HOST])


async def test_rebinding_the_next_delivery_is_judged_anew(dialled: list[str]) -> None:
    """Each delivery asks and judges again, so yesterday's good answer opens nothing."""
    poster = Poster(policy=Policy, resolver=Turns(("93.184.216.34",), ("10.0.0.1",)))
    answers = [await poster.post(f"https://{HOST}/in", {}, b"{}") for _ in range(2)]
    assert [answer.code for answer in answers] == ["CONNECT_FAILED", "WEBHOOK_ADDRESS"]
    assert dialled == ["93.184.216.34"]


@pytest.mark.parametrize("case", HOSTILE_URLS, ids=lambda c: c.trick)
async def test_hostile_urls_are_never_dialled(case: HostileUrl, dialled: list[str]) -> None:
    """No URL of the corpus makes the poster open a connection."""
    answer = await Poster(policy=Policy, resolver=Turns(case.answers)).post(case.url, {}, b"{}")
    assert dialled == []
    assert answer.code is not None
    assert answer.code.startswith("WEBHOOK_")


async def test_judged_addresses_are_tried_in_turn(dialled: list[str]) -> None:
    """An address that takes no connection is followed by the next judged one, up to three."""
    answers = ("93.184.216.34", "2606:4700::1111", "1.1.1.1", "8.8.8.8")
    await Poster(policy=Policy, resolver=Turns(answers)).post(f"https://{HOST}/in", {}, b"{}")
    assert dialled == list(answers[:3])


async def test_proxies_of_the_environment_are_not_used(
    dialled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would resolve the name itself, past the guard."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:3128")
    await Poster(policy=Policy, resolver=Turns(("1.1.1.1",))).post(f"https://{HOST}/in", {}, b"{}")
    assert dialled == ["1.1.1.1"]


async def test_tls_keeps_name_and_host(serve: Serve, authority: Any) -> None:
    """Connected to the address, the handshake and the Host header still say the name."""
    endpoint = await serve(tls=authority.server(HOST))
    poster = _poster(endpoint, tls=authority.client())
    answer = await poster.post(f"https://{HOST}:{endpoint.port}/in?a=%20b", {"x-test": "1"}, b'{"a":1}')
    assert answer == Answer(status=200)
    (request,) = endpoint.seen
    assert endpoint.names == [HOST]
    assert request.headers["host"] == f"{HOST}:{endpoint.port}"
    assert request.line == "POST /in?a=%20b HTTP/1.1"
    assert (request.headers["x-test"], request.body) == ("1", b'{"a":1}')


async def test_certificate_of_another_name_is_refused(serve: Serve, authority: Any) -> None:
    """The certificate is checked against the name of the URL, not against the address."""
    endpoint = await serve(tls=authority.server("other.example.com"))
    answer = await _poster(endpoint, tls=authority.client()).post(
        f"https://{HOST}:{endpoint.port}/", {}, b"{}"
    )
    assert (answer.code, endpoint.seen) == ("TLS_FAILED", [])


async def test_untrusted_authority_is_refused(serve: Serve, authority: Any) -> None:
    """A certificate nobody vouches for gets nothing."""
    endpoint = await serve(tls=authority.server(HOST))
    answer = await _poster(endpoint).post(f"https://{HOST}:{endpoint.port}/", {}, b"{}")
    assert (answer.code, endpoint.seen) == ("TLS_FAILED", [])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirects_are_not_followed(serve: Serve, status: int) -> None:
    """A redirect is a failure with a reason, and the place it names hears nothing."""
    inside = await serve()
    location = f"location: http://127.0.0.1:{inside.port}/secret".encode()
    endpoint = await serve(b"HTTP/1.1 %d Moved\r\n%b\r\ncontent-length: 0\r\n\r\n" % (status, location))
    answer = await _poster(endpoint).post(_plain(endpoint), {}, b"{}")
    assert (answer.status, answer.code, inside.seen) == (status, "REDIRECTED", [])


async def test_endless_answer_is_cut(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that never stops talking is cut off after a bounded read, and its status counts."""
    monkeypatch.setattr("lucius.webhooks.post._DRAIN_SECONDS", 60.0)
    endpoint = await serve(b"HTTP/1.1 200 OK\r\n\r\n")
    endpoint.endless = True
    answer = await _poster(endpoint).post(_plain(endpoint), {}, b"{}")
    assert answer == Answer(status=200)


async def test_answer_that_trickles_counts_by_its_status(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the status is in, a body that never ends by itself does not turn success into failure."""
    monkeypatch.setattr("lucius.webhooks.post._DRAIN_SECONDS", 0.05)
    endpoint = await serve()
    end = asyncio.Event()

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx")
        await end.wait()
        writer.close()

    endpoint.serve_with = trickle
    answer = await _poster(endpoint).post(_plain(endpoint), {}, b"{}")
    end.set()
    assert answer == Answer(status=200)


async def test_silent_endpoint_times_out(serve: Serve) -> None:
    """An endpoint that takes the request and says nothing is given up after the time limit."""
    endpoint = await serve()
    silence = asyncio.Event()

    async def hang(_request: object) -> None:
        await silence.wait()

    endpoint.before_answer = hang
    answer = await _poster(endpoint, timeout=0.2).post(_plain(endpoint), {}, b"{}")
    silence.set()
    assert (answer.code, len(endpoint.seen)) == ("TIMEOUT", 1)


@pytest.mark.parametrize("noise", [b"", b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000])
async def test_noise_is_a_failure(serve: Serve, noise: bytes) -> None:
    """What is not an HTTP answer of bounded size becomes a failure, not an exception."""
    endpoint = await serve(noise)
    answer = await _poster(endpoint).post(_plain(endpoint), {}, b"{}")
    assert answer.code == "PROTOCOL_FAILED"


async def test_the_policy_is_asked_before_every_post(serve: Serve) -> None:
    """A delivery that waited while open mode ended is not sent to this machine any more."""
    endpoint = await serve()
    local = Policy(allow_loopback=True, ports=frozenset({endpoint.port}))
    policies = iter((local, Policy()))
    poster = Poster(policy=lambda: next(policies), resolver=Turns(("127.0.0.1",)))
    answers = [await poster.post(_plain(endpoint), {}, b"{}") for _ in range(2)]
    assert [(answer.status, answer.code) for answer in answers] == [(200, None), (None, "WEBHOOK_SCHEME")]
    assert len(endpoint.seen) == 1


async def test_no_address_is_said_so() -> None:
    """A name DNS does not know is a failure that can be tried again."""

    async def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    answer = await Poster(policy=Policy, resolver=unknown).post(f"https://{HOST}/", {}, b"{}")
    assert answer.code == "WEBHOOK_UNRESOLVED"


def _plain(endpoint: Any) -> str:
    return f"http://127.0.0.1:{endpoint.port}/in"


def _poster(endpoint: Any, **given: Any) -> Poster:
    policy = Policy(allow_loopback=True, ports=frozenset({endpoint.port}))
    return Poster(policy=lambda: policy, resolver=Turns(("127.0.0.1",)), **given)
