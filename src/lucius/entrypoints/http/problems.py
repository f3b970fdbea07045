"""Refusals: RFC 9457 problem documents, for every answer that is not a success.

    type      urn:lucius:problem:<code in lower case>       status    the HTTP status
    title     the status in words                           detail    what is wrong, for people
    code      stable, for programs                          errors    where: [{pointer, code, detail}]
    instance  the path asked for

A missing object and somebody else's object give the same bytes, so their problem names neither the
path nor the id. An unexpected error names an incident id that is in the log, and nothing else.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import structlog

from lucius.errors import Broken, LuciusError, NotFound, Saturated, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

MEDIA_TYPE = "application/problem+json"
Header = tuple[bytes, bytes]
Answer = tuple[int, bytes, list[Header]]

_CONTENT_TYPE = (b"content-type", MEDIA_TYPE.encode())
_CHALLENGE = (b"www-authenticate", b'Bearer realm="lucius"')
_RETRY_AFTER = 5
_MAX_INSTANCE = 256
_GONE = "There is nothing of that id that this credential may see."
_AWAY = "A part that Lucius needs is away; try again later."


class ErrorItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, and where: a JSON Pointer into the body, or `/query/<name>`."""

    pointer: str
    code: str
    detail: str


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    instance: str | None = None
    errors: list[ErrorItem] = []
    incident_id: str | None = None


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    instance: str | None = None,
    errors: list[dict[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A problem document."""
    document: dict[str, Any] = {
        "type": f"urn:lucius:problem:{code.lower().replace('_', '-')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if instance is not None:
        document["instance"] = instance[:_MAX_INSTANCE]
    if errors:
        document["errors"] = errors
    return document | more


def refusal(error: LuciusError, instance: str | None = None) -> dict[str, Any]:
    """The document of an error that Lucius raised on purpose."""
    if isinstance(error, NotFound):
        return problem(error.status, error.code, _GONE)
    # What is away, and where it lives, is for the log.
    detail = _AWAY if isinstance(error, Unavailable) else error.message
    errors = [{"pointer": p.pointer, "code": p.code, "detail": p.message} for p in error.problems]
    return problem(error.status, error.code, detail, instance=instance, errors=errors)


def unexpected(error: Exception, new_id: Callable[[], str], instance: str | None = None) -> dict[str, Any]:
    """The document of an error nobody foresaw. The log has the rest, under the same id."""
    incident = new_id()
    structlog.get_logger(__name__).error(
        "unexpected error", incident_id=incident, path=instance, exc_info=error
    )
    detail = f"Something went wrong that should not have. Tell whoever operates Lucius: incident {incident}."
    return problem(500, "INTERNAL", detail, instance=instance, incident_id=incident)


def document_of(error: Exception, new_id: Callable[[], str], instance: str | None = None) -> dict[str, Any]:
    """The document of any error."""
    if isinstance(error, LuciusError) and not isinstance(error, Broken) and error.status != 500:  # noqa: PLR2004
        if isinstance(error, Unavailable):
            structlog.get_logger(__name__).warning("unavailable", code=error.code, reason=error.message)
        return refusal(error, instance)
    return unexpected(error, new_id, instance)


def answer_to(error: Exception, new_id: Callable[[], str], instance: str | None = None) -> Answer:
    """Status, body and headers for an error."""
    while isinstance(error, ExceptionGroup):  # what a task group makes of the error of its task
        error = error.exceptions[0]
    document = document_of(error, new_id, instance)
    return document["status"], encoded(document), headers_of(document["status"], error)


def headers_of(status: int, error: Exception | None = None) -> list[Header]:
    """What a problem of this status must say in its headers."""
    headers = [_CONTENT_TYPE]
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append(_CHALLENGE)
    if isinstance(error, Saturated | Unavailable):
        headers.append((b"retry-after", str(error.retry_after or _RETRY_AFTER).encode()))
    return headers


def encoded(document: dict[str, Any]) -> bytes:
    """The bytes of a problem."""
    return orjson.dumps(document)
