"""Documents on the web: https, read only, exactly the URI that was given.

No state: each read has its own connection. Redirects are refused, because whoever checked the reference
checked this host and no other. An answer that is not 200 is told like a store's.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from http import HTTPStatus

import httpx2

from lucius.sdk.serving.outcomes import Final, Retryable
from lucius.sdk.workspaces.clouds import Patience
from lucius.sdk.workspaces.pieces import PIECE
from lucius.sdk.workspaces.places import Place

_ABSENT = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_DENIED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


async def read(place: Place, patience: Patience, tls: ssl.SSLContext | None) -> AsyncGenerator[bytes, None]:
    """The body of a web address, piece by piece."""
    timeout = httpx2.Timeout(patience.silence_seconds, connect=10.0)
    # identity: size and hash are those of the file, not of what it becomes on the way.
    headers = {"accept-encoding": "identity"}
    try:
        async with (
            httpx2.AsyncClient(timeout=timeout, headers=headers, verify=tls or True) as client,
            client.stream("GET", place.uri) as answer,
        ):
            _check(answer.status_code, place)
            async for piece in answer.aiter_bytes(PIECE):
                yield piece
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        told = f"{place.shown} could not be read: {type(error).__name__}."
        raise Retryable("STORE_UNAVAILABLE", told) from error


def _check(status: int, place: Place) -> None:
    if status == HTTPStatus.OK:
        return
    if status in _ABSENT:
        raise Final("INPUT_NOT_FOUND", f"{place.shown} does not exist.")
    if status in _DENIED:
        raise Final("INPUT_FORBIDDEN", f"The service may not read {place.shown}.")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
        raise Retryable("STORE_UNAVAILABLE", f"{place.shown} could not be read: it answered {status}.")
    raise Final("INPUT_NOT_READABLE", f"{place.shown} answered {status} instead of the document.")
