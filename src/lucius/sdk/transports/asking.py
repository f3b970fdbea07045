"""One POST and its answer, with every failure as a value of the one error tree. No state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec

from lucius.errors import Invalid, LuciusError, Unavailable
from lucius.sdk import door
from lucius.sdk.problems import NOT_LUCIUS, lost, refusal

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

_KEEP_ALIVE = httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=4.0)
"""Connections idle for longer are closed from here: servers close theirs after 5 s, often just as we ask."""


def client(url: str, key: str | None, timeout: float, trust: ssl.SSLContext) -> httpx2.AsyncClient:
    """A pool of connections. No proxy of the environment stands between a machine and itself."""
    arguments: dict[str, Any] = door.options(url, key, timeout)
    mounts = {f"all://{name}": None for name in ("localhost", "127.0.0.1", "[::1]")}
    more = {"trust_env": True, "mounts": mounts, "limits": _KEEP_ALIVE, "verify": trust}
    return httpx2.AsyncClient(**arguments | more)


async def ask(
    http: httpx2.AsyncClient,
    url: str,
    body: bytes,
    *,
    token: str | None = None,
    timeout: httpx2.Timeout | None = None,  # noqa: ASYNC109 - of a single read, not of the whole
) -> httpx2.Response | LuciusError:
    """Post JSON. Cancelled, it closes the connection, which is how the other side learns of it."""
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
    try:
        return await http.post(url, content=body, headers=headers, **more)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        return Invalid(f"{url} is not an address that can be asked.", code="BAD_URL")
    except httpx2.HTTPError as error:
        return lost(error, _origin(url))


def answer(response: httpx2.Response, shape: type[T]) -> T | LuciusError:
    """What a response says; fields nobody knows are passed over."""
    if not response.is_success:
        return refusal(response)
    try:
        return msgspec.json.decode(response.content, type=shape)
    except msgspec.DecodeError:
        return stranger(response)


def stranger(response: httpx2.Response) -> Unavailable:
    """Somebody answered, but not as Lucius does."""
    message = f"{_origin(str(response.url))} answers, but not as Lucius does (status {response.status_code})."
    return Unavailable(message, code=NOT_LUCIUS)


def _origin(url: str) -> str:
    """Without path and query: those of a message may hold what does not belong into a log."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
