"""One try: resolve once, judge every address, connect to a judged one, keep only the status.

Never raises for what the other side does: every failure becomes an `Answer` with a code. Texts are
our own and name no address, or the log would tell a client what our DNS and network look like. A
connection is never shared: a kept one is pooled by address, and would let one host's certificate
speak for another host at the same address.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx2
import msgspec

from lucius.webhooks.addresses import Address
from lucius.webhooks.guard import Policy, Target, UrlRefused, check_answer, read_url

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → every address, or OSError."""

_MAX_ADDRESSES = 3
_MAX_ANSWER_BYTES = 65_536
_DRAIN_SECONDS = 1.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one try. `code` is None if and only if the endpoint took it."""

    status: int | None = None
    code: str | None = None
    error: str | None = None
    retry_after: str | None = None


class SystemResolver:
    """The machine's own resolver, in threads of its own so that slow DNS holds up nobody else."""

    def __init__(self, threads: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="lucius-dns")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Every address of the host, without doubles, in the system's order of preference."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, self._look_up, host, port)
        return tuple(dict.fromkeys(found))

    def close(self) -> None:
        """Give the threads back; a lookup under way is left to end by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _look_up(host: str, port: int) -> list[str]:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Sends the request to one given address; Host header, SNI and certificate stay the name's."""

    def __init__(self, address: Address, target: Target, tls: ssl.SSLContext) -> None:
        self._address = address
        self._target = target
        self._inner = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, http2=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Swap the host of the URL for the address, nothing else."""
        request.headers["host"] = self._target.authority
        request.extensions = {**request.extensions, "sni_hostname": self._target.host}
        request.url = request.url.copy_with(host=str(self._address))
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the one connection."""
        await self._inner.aclose()


class Poster:
    """Posts to hostile URLs under the policy of the moment."""

    def __init__(
        self,
        *,
        policy: Callable[[], Policy],
        resolver: Resolver,
        tls: ssl.SSLContext | None = None,
        timeout: float = 10.0,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._tls = tls or ssl.create_default_context()
        self._timeout = timeout

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        """Send once, within the time limit for everything together."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self._post(url, headers, body)
        except UrlRefused as refused:
            return Answer(code=refused.code, error=refused.message)
        except (TimeoutError, httpx2.TimeoutException):
            return Answer(code="TIMEOUT", error="the endpoint did not answer in time")
        except httpx2.ConnectError as failed:
            if isinstance(_root_of(failed), ssl.SSLError):
                return Answer(code="TLS_FAILED", error="no trusted TLS connection to this host")
            return Answer(code="CONNECT_FAILED", error="the endpoint takes no connection")
        except (httpx2.HTTPError, httpx2.InvalidURL):
            return Answer(code="PROTOCOL_FAILED", error="the connection broke or the answer was not HTTP")

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        policy = self._policy()
        target = read_url(url, policy)
        addresses = check_answer(target, await self._resolve(target), policy)
        *spare, last = addresses[:_MAX_ADDRESSES]
        for address in spare:
            # Nothing was sent on a connection that never came about, so the next one may be tried.
            with suppress(httpx2.ConnectError):
                return await self._send(target, address, headers, body)
        return await self._send(target, last, headers, body)

    async def _resolve(self, target: Target) -> Sequence[str]:
        if target.address is not None:
            return (str(target.address),)
        try:
            return await self._resolver(target.host, target.port)
        except (OSError, UnicodeError):
            raise UrlRefused("WEBHOOK_UNRESOLVED", "the host has no address") from None

    async def _send(self, target: Target, address: Address, headers: dict[str, str], body: bytes) -> Answer:
        transport = PinnedTransport(address, target, self._tls)
        url = f"{target.scheme}://{target.authority}{target.path}"
        async with (
            httpx2.AsyncClient(transport=transport, trust_env=False, timeout=self._timeout) as client,
            client.stream("POST", url, headers=headers, content=body, follow_redirects=False) as response,
        ):
            await _drain(response)
            return _answer(response.status_code, response.headers.get("retry-after"))


async def _drain(response: httpx2.Response) -> None:
    """Let a polite endpoint finish its sentence; what it says, or that it breaks off, is no matter."""
    seen = 0
    with suppress(httpx2.HTTPError, TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            # Raw: a small compressed body must not be unpacked into a large one.
            async for part in response.aiter_raw():
                seen += len(part)
                if seen >= _MAX_ANSWER_BYTES:
                    return


def _answer(status: int, retry_after: str | None) -> Answer:
    if httpx2.codes.is_success(status):
        return Answer(status=status)
    if httpx2.codes.is_redirect(status):
        return Answer(
            status=status, code="REDIRECTED", error="redirects are not followed; give the final URL"
        )
    return Answer(status=status, code="HTTP_ERROR", error=f"HTTP {status}", retry_after=retry_after)


def _root_of(error: BaseException) -> BaseException:
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return error
