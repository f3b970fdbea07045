"""From what an invoker answers to a record, or to the error it raised. Total: nothing else gets out.

A problem document that names its `kind` is an error of the invoker and is raised as that. Without one the
door spoke (401: our token does not fit), or no invoker did.
"""

from __future__ import annotations

from typing import TypeVar

import httpx2
import msgspec

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

T = TypeVar("T")

AWAY = "INVOKER_UNAVAILABLE"
DRAINING = "DRAINING"
_OK, _UNAUTHENTICATED = 200, 401
_KINDS: dict[str, type[LuciusError]] = {
    kind.__name__: kind
    for kind in (
        Broken, Forbidden, Invalid, LuciusError, NotFound, Refused, Saturated, Unauthenticated, Unavailable,
    )
}  # fmt: skip


class _Place(msgspec.Struct, frozen=True):
    pointer: str = ""
    code: str = ""
    detail: str = ""


class _Document(msgspec.Struct, frozen=True):
    """What is read of a problem document."""

    code: str
    status: int
    detail: str = ""
    kind: str = ""
    errors: tuple[_Place, ...] = ()


def judged(response: httpx2.Response, shape: type[T], url: str) -> T:
    """The record in an answer; raises the error it stands for."""
    if response.status_code != _OK:
        raise _error(response, url)
    try:
        return msgspec.json.decode(response.content, type=shape)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise away(url, "it answers, but not as an invoker does") from error


def away(url: str, why: str, retry_after: int | None = None) -> Unavailable:
    """Nobody did what was asked; or it was done and we do not know."""
    return Unavailable(f"The invoker at {url} is away: {why}.", code=AWAY, retry_after=retry_after)


def _error(response: httpx2.Response, url: str) -> LuciusError:
    retry_after = _seconds(response.headers.get("retry-after"))
    try:
        document = msgspec.json.decode(response.content, type=_Document)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        document = _Document(code="", status=response.status_code)
    kind = _KINDS.get(document.kind)
    if kind is not None:
        return kind(
            document.detail,
            code=document.code,
            status=document.status,
            problems=tuple(
                Problem(pointer=e.pointer, code=e.code, message=e.detail) for e in document.errors
            ),
            retry_after=retry_after,
        )
    if response.status_code == _UNAUTHENTICATED:
        return _token_refused(url)
    why = f"it answers {response.status_code} {document.code}".rstrip()
    return away(url, f"{why} ({document.detail})" if document.detail else why, retry_after)


def _token_refused(url: str) -> Forbidden:
    # 503 for whoever asked us: it is our setting that is wrong, and a service that is told 403 would throw
    # away its result instead of reporting it again.
    return Forbidden(
        f"The invoker at {url} does not take our token. All processes need the same one, by "
        "LUCIUS_INVOKER_TOKEN or by secrets/invoker-token of the same data directory.",
        code="INVOKER_TOKEN_REFUSED",
        status=503,
    )


def _seconds(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
