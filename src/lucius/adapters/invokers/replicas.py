"""Whom to ask: invokers take turns, and one that does not listen or is about to end is passed over.

State: a pool of connections, whose turn it is, and who was silent. Only what certainly was not begun is
asked of the next one: a connection that could not be made, or a refusal with DRAINING. An answer that is
lost on the way is `Unavailable`, for it may have been done; every call of the invoker is safe to repeat, so
the caller may. Who took a call and did not answer in time comes last for a while, then gets one call to show
that it is back: one that stands still would else keep every second caller waiting.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lucius.adapters.invokers.answers import DRAINING, away, judged
from lucius.errors import Invalid, Unavailable

T = TypeVar("T")

_TOKEN = re.compile(r"[!-~]{1,512}")
_POOL = httpx2.Limits(max_connections=100, max_keepalive_connections=50, keepalive_expiry=4.0)
"""Connections idle for longer are closed from here: servers close theirs after 5 s, often just as we ask."""
REST = 10.0
"""Seconds for which nobody asks an invoker first that did not answer in time."""
_TRACE = TraceContextTextMapPropagator()


class Replicas:
    """Invokers that do the same: any of them may be asked anything."""

    def __init__(self, urls: str, token: str, *, timeout: float, connect_timeout: float) -> None:
        self._urls = tuple(_address(url.strip()) for url in urls.split(",") if url.strip())
        if not self._urls:
            raise Invalid("No address of an invoker is set.", code="BAD_INVOKER_URL")
        if not _TOKEN.fullmatch(token):
            raise Invalid(
                "No token for the invoker is set, or it has blanks. Set LUCIUS_INVOKER_TOKEN.",
                code="BAD_INVOKER_TOKEN",
            )
        self._turn = 0
        self._silent: dict[str, float] = {}
        self._http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}", "User-Agent": "lucius"},
            timeout=httpx2.Timeout(timeout, connect=connect_timeout),
            limits=_POOL,
            verify=_trust(self._urls),
            follow_redirects=False,
            trust_env=False,
        )

    async def ask(self, path: str, body: bytes, shape: type[T]) -> T:
        """The answer of the first invoker that takes the call; raises what it raised."""
        missed: Unavailable | None = None
        for url in self._in_turn():
            try:
                return await self._post(url, path, body, shape)
            except _NotBegunError as error:
                missed = error.reason
        assert missed is not None  # noqa: S101 - there is at least one address
        raise missed

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    def _in_turn(self) -> list[str]:
        """All of them, those at rest last. The one whose rest is over rests on while it is being tried."""
        self._turn = first = (self._turn + 1) % len(self._urls)
        urls = [*self._urls[first:], *self._urls[:first]]
        if self._silent:
            now = asyncio.get_running_loop().time()
            urls.sort(key=lambda url: self._silent.get(url, now) > now)
            if urls[0] in self._silent:
                self._silent[urls[0]] = now + REST
        return urls

    async def _post(self, url: str, path: str, body: bytes, shape: type[T]) -> T:
        headers = {"Content-Type": "application/json"}
        _TRACE.inject(headers)
        try:
            response = await self._http.post(url + path, content=body, headers=headers)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise _NotBegunError(away(url, "no connection can be made")) from error
        except httpx2.TimeoutException as error:
            if not isinstance(error, httpx2.PoolTimeout):  # that one is about us
                self._silent[url] = asyncio.get_running_loop().time() + REST
            raise away(url, "it does not answer in time") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise away(url, f"the connection is lost ({type(error).__name__})") from error
        self._silent.pop(url, None)
        try:
            return judged(response, shape, url)
        except Unavailable as error:
            if error.code == DRAINING:
                raise _NotBegunError(error) from error
            raise


class _NotBegunError(Exception):
    """This one has certainly not begun what was asked."""

    def __init__(self, reason: Unavailable) -> None:
        super().__init__(reason.message)
        self.reason = reason


def _trust(urls: tuple[str, ...]) -> ssl.SSLContext:
    """Whose certificates count. Reading them takes its time; where none is shown, none is trusted."""
    if any(url.startswith("https:") for url in urls):
        return httpx2.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _address(url: str) -> str:
    """An address without a trailing slash. It holds no password, so that messages may name it."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise _no_address() from error
    if not whole or "@" in parts.netloc or parts.query or parts.fragment:
        raise _no_address()
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _no_address() -> Invalid:
    return Invalid(
        "An address of the invoker looks like http://127.0.0.1:8710, without user, password or query; "
        "several are separated by commas.",
        code="BAD_INVOKER_URL",
    )
