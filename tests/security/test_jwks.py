from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import pytest

from lucius.adapters.keyrings.jwks_source import MAX_DOCUMENT, jwks_from_file, jwks_from_url
from lucius.errors import Invalid, Unauthenticated, Unavailable
from lucius.security.jwks import JwksCache
from lucius.security.jwt import JwtRules, JwtVerifier
from lucius.testing.forgeries import Issuer, public
from tests.security.builders import NOW, Clock


class Source:
    """A JWKS endpoint that a test rotates and breaks."""

    def __init__(self, document: bytes) -> None:
        self.document: bytes | None = document
        self.fetches = 0

    async def __call__(self) -> bytes:
        """The document, or an outage."""
        self.fetches += 1
        await asyncio.sleep(0)
        if self.document is None:
            raise Unavailable("The issuer is away.")
        return self.document


def old_document(issuer: Issuer) -> bytes:
    """The issuer's keys before it rotated to the one it signs with."""
    return json.dumps({"keys": [{**public(issuer.stranger), "kid": "rsa-0"}]}).encode()


def checker(issuer: Issuer, cache: JwksCache, clock: Clock) -> JwtVerifier:
    """A verifier on that cache."""
    return JwtVerifier(JwtRules(issuer=issuer.url, audience=issuer.audience), cache, clock=clock)


async def test_a_rotated_key_is_fetched_when_first_seen(issuer: Issuer, clock: Clock) -> None:
    """The first token of a new key is accepted, and asks the issuer once."""
    source = Source(old_document(issuer))
    cache = JwksCache(source, clock=clock)
    await cache.refresh()
    source.document = issuer.jwks()
    clock.now += 10_000
    assert (await checker(issuer, cache, clock).verify(issuer.token(NOW))).subject == "jwt:ada"
    assert (await checker(issuer, cache, clock).verify(issuer.token(NOW))).subject == "jwt:ada"
    assert source.fetches == 2


async def test_unknown_key_ids_do_not_flood_the_issuer(issuer: Issuer, clock: Clock) -> None:
    """A hundred tokens with made-up keys cost one request an interval, together or in turn."""
    source = Source(old_document(issuer))
    verifier = checker(issuer, JwksCache(source, clock=clock, min_interval=10_000), clock)
    refused = await asyncio.gather(
        *(verifier.verify(issuer.token(NOW)) for _ in range(100)), return_exceptions=True
    )
    assert {type(answer) for answer in refused} == {Unauthenticated}
    assert source.fetches == 1
    clock.now += 10_000
    with pytest.raises(Unauthenticated):
        await verifier.verify(issuer.token(NOW))
    assert source.fetches == 2


async def test_an_outage_keeps_the_last_good_keys_for_a_while(issuer: Issuer, clock: Clock) -> None:
    """Stale keys verify until they are too old; then nobody is let in until the issuer is back."""
    source = Source(issuer.jwks())
    cache = JwksCache(source, clock=clock, min_interval=1_000, max_stale=3_600_000)
    assert await cache.refresh()
    source.document = None
    clock.now += 3_600_000
    assert not await cache.refresh()
    assert cache.last_error == "The issuer is away."
    assert (await checker(issuer, cache, clock).verify(issuer.token(clock.now))).subject == "jwt:ada"
    clock.now += 1
    with pytest.raises(Unavailable):
        cache.keys()
    source.document = issuer.jwks()
    clock.now += 1_000
    assert (await checker(issuer, cache, clock).verify(issuer.token(clock.now))).subject == "jwt:ada"
    assert cache.last_error is None


async def test_a_broken_document_does_not_replace_good_keys(issuer: Issuer, clock: Clock) -> None:
    """An issuer that answers nonsense is an outage, not a rotation to nothing."""
    source = Source(issuer.jwks())
    cache = JwksCache(source, clock=clock)
    await cache.refresh()
    source.document = b'{"keys": []}'
    clock.now += 600_000
    assert not await cache.refresh()
    assert (await checker(issuer, cache, clock).verify(issuer.token(clock.now))).subject == "jwt:ada"


async def test_keys_are_kept_fresh_in_the_background(issuer: Issuer, clock: Clock) -> None:
    """The loop sleeps long after success and briefly after failure."""
    source = Source(issuer.jwks())
    cache = JwksCache(source, clock=clock, max_age=600_000, min_interval=10_000)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.now += int(seconds * 1000)
        source.document = None if len(slept) == 1 else issuer.jwks()
        if len(slept) == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await cache.run(sleep)
    assert slept == [600.0, 10.0, 600.0]


@pytest.mark.parametrize(
    "url", ["http://issuer.example/jwks", "ftp://issuer.example", "https://u:p@issuer.example", "/etc/passwd"]
)
async def test_keys_come_over_https_or_from_this_machine(url: str) -> None:
    """Keys that anybody on the way could replace are refused at start."""
    async with httpx2.AsyncClient() as client:
        with pytest.raises(Invalid) as refused:
            jwks_from_url(url, client)
        assert refused.value.code == "BAD_JWKS_URL"
        with pytest.raises(Unavailable):
            await jwks_from_url("http://127.0.0.1:1/jwks", client)()


def answering(handler: Callable[[httpx2.Request], httpx2.Response]) -> Callable[[], Awaitable[bytes]]:
    """A fetcher whose server is a function."""
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    return jwks_from_url("https://issuer.example/jwks", client)


async def test_fetching_takes_documents_and_nothing_else() -> None:
    """Redirects, errors, floods and broken connections are outages."""

    def broken(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    assert await answering(lambda _: httpx2.Response(200, content=b"{}"))() == b"{}"
    for handler in (
        lambda _: httpx2.Response(302, headers={"location": "http://169.254.169.254/"}),
        lambda _: httpx2.Response(500),
        lambda _: httpx2.Response(200, content=b" " * (MAX_DOCUMENT + 1)),
        broken,
    ):
        with pytest.raises(Unavailable):
            await answering(handler)()


async def test_keys_may_come_from_a_file(tmp_path: Path) -> None:
    """A file is read at each refresh, and a missing one is an outage."""
    path = tmp_path / "jwks.json"
    fetch = jwks_from_file(path)
    with pytest.raises(Unavailable):
        await fetch()
    path.write_bytes(b"{}")
    assert await fetch() == b"{}"
