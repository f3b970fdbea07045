"""From what a server answers, or fails to answer, to the one error tree. Total: nothing else gets out."""

from __future__ import annotations

from typing import Any

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
from lucius.sdk.call import Call, Patience

UNREACHABLE = "SERVER_UNREACHABLE"
ANSWER_LOST = "ANSWER_LOST"
NOT_LUCIUS = "NOT_LUCIUS"

_OK = range(200, 300)
_CLIENT_ERRORS = range(400, 500)
_BY_STATUS: dict[int, type[LuciusError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Refused,
    429: Saturated,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def judged(response: httpx2.Response) -> Any:
    """The decoded answer, or the error it stands for."""
    if response.status_code not in _OK:
        raise refusal(response)
    if response.status_code == httpx2.codes.NO_CONTENT:
        return None
    try:
        return msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        raise _stranger(response) from None


def refusal(response: httpx2.Response) -> LuciusError:
    """The error an answer of another kind than 2xx stands for."""
    try:
        document = msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        return _stranger(response)
    if isinstance(document, dict) and document.get("status") == "not_ready":
        parts = document.get("components") or {}
        away = ", ".join(f"{name}: {state}" for name, state in parts.items() if state != "ok")
        return Unavailable(f"This Lucius is not ready ({away}).", code="NOT_READY")
    if not isinstance(document, dict) or "code" not in document:
        return _stranger(response)
    status = response.status_code
    code = str(document["code"])
    kind = _BY_STATUS.get(status) or (Invalid if status in _CLIENT_ERRORS else Broken)
    if code.endswith("_SATURATED"):
        kind = Saturated
    return kind(
        str(document.get("detail") or document.get("title") or code),
        code=code,
        status=status,
        problems=tuple(_problem(entry) for entry in document.get("errors") or () if isinstance(entry, dict)),
        retry_after=_seconds(response.headers.get("retry-after")),
    )


def unanswered(error: Exception, url: str, call: Call[Any]) -> LuciusError:
    """The error a request without an answer stands for."""
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return Invalid(f"{url} is not the address of a server; it looks like http://127.0.0.1:8700.")
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Unavailable(f"No Lucius answers at {url}.", code=UNREACHABLE)
    what = f"{call.method} {call.path}"
    if call.repeatable:
        return Unavailable(f"The answer to {what} from {url} was lost.", code=ANSWER_LOST)
    message = (
        f"The answer to {what} from {url} was lost; it may have been done or not: look before asking again."
    )
    return Unavailable(message, code=ANSWER_LOST)


def lost(error: Exception, url: str) -> LuciusError:
    """The error a broken stream stands for."""
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Unavailable(f"No Lucius answers at {url}.", code=UNREACHABLE)
    return Unavailable(f"The connection to {url} is lost.", code=ANSWER_LOST)


def may_repeat(error: Exception, call: Call[Any], patience: Patience) -> bool | float:
    """Whether to try again: no, yes, or yes after so many seconds."""
    if not isinstance(error, LuciusError) or not error.retryable:
        return False
    if error.code in {UNREACHABLE, ANSWER_LOST, NOT_LUCIUS}:
        return error.code == UNREACHABLE or (call.repeatable and error.code == ANSWER_LOST)
    if not call.repeatable:
        return False
    if error.retry_after is None:
        return True
    return float(error.retry_after) if error.retry_after <= patience.longest_retry_after else False


def _stranger(response: httpx2.Response) -> LuciusError:
    where = f"{response.url.scheme}://{response.url.netloc.decode()}"
    message = f"{where} answers, but not as Lucius does (status {response.status_code})."
    return Unavailable(message, code=NOT_LUCIUS)


def _problem(entry: dict[str, Any]) -> Problem:
    message = entry.get("detail") or entry.get("message") or ""
    return Problem(
        pointer=str(entry.get("pointer") or ""), code=str(entry.get("code") or ""), message=str(message)
    )


def _seconds(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
