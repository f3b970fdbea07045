"""What both clients share: how a call becomes a request, and where it goes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx2

from lucius.errors import Invalid
from lucius.sdk.call import Call


def address(url: str) -> str:
    """The server's address without a trailing slash; raise `Invalid` when it is none."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"{url!r} is not the address of a server; it looks like http://127.0.0.1:8700."
        raise Invalid(message, code="BAD_URL")
    return url.rstrip("/")


def options(url: str, key: str | None, timeout: float) -> dict[str, Any]:
    """The arguments both kinds of httpx2 client take."""
    headers = {"Accept": "application/json", "User-Agent": "lucius-sdk"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    # A proxy from the environment has no business between a machine and itself.
    local = urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}
    return {"base_url": address(url), "headers": headers, "timeout": timeout, "trust_env": not local}


def request(call: Call[Any]) -> dict[str, Any]:
    """The arguments of one request."""
    headers = dict(call.headers)
    if call.body is not None:
        headers["Content-Type"] = "application/json"
    return {
        "method": call.method,
        "url": call.path,
        "params": dict(call.params) or None,
        "content": call.body,
        "headers": headers,
    }


def stream(call: Call[Any], after: int, timeout: float, silence: float) -> dict[str, Any]:
    """The arguments of a request for events as they happen, from the one after `after` on."""
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": str(after)} if after else {})
    return {
        "method": call.method,
        "url": call.path,
        "headers": headers,
        "timeout": httpx2.Timeout(timeout, read=silence),
    }
