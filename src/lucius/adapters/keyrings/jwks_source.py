"""Fetchers for `JwksCache`: the issuer's keys over HTTP or from a file.

Both answer the raw document or raise `Unavailable`; the cache decides what an outage means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2

from lucius.errors import Invalid, Unavailable
from lucius.security.loopback import is_loopback

MAX_DOCUMENT = 262_144
_OK = 200


def jwks_from_url(url: str, client: httpx2.AsyncClient) -> Callable[[], Awaitable[bytes]]:
    """A fetcher for an https URL (plain http only to this machine), without redirects."""
    parsed = httpx2.URL(url)
    if parsed.scheme != "https" and not (parsed.scheme == "http" and is_loopback(parsed.host)):
        raise Invalid(
            f"The JWKS address must start with https:// (it is {parsed.scheme}://).", code="BAD_JWKS_URL"
        )
    if parsed.userinfo:
        raise Invalid("The JWKS address must not hold a user name or password.", code="BAD_JWKS_URL")

    async def fetch() -> bytes:
        try:
            async with client.stream("GET", url, follow_redirects=False, timeout=5.0) as response:
                if response.status_code != _OK:
                    raise Unavailable(f"The JWKS address answered {response.status_code}.")
                document = b""
                async for chunk in response.aiter_bytes():
                    document += chunk
                    if len(document) > MAX_DOCUMENT:
                        raise Unavailable(f"The JWKS document is larger than {MAX_DOCUMENT} bytes.")
                return document
        except httpx2.HTTPError as error:
            raise Unavailable(f"The JWKS address cannot be reached ({type(error).__name__}).") from error

    return fetch


def jwks_from_file(path: Path) -> Callable[[], Awaitable[bytes]]:
    """A fetcher for a local document."""

    async def fetch() -> bytes:
        try:
            return await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise Unavailable(f"The JWKS file {path} cannot be read: {error.strerror}.") from error

    return fetch
