"""Problem documents for programs that know the error tree.

Where the public API hides what is away and what is not there, this one says it: whoever has the token is
part of Lucius. `kind` names the class of an error that the invoker raised, so that the other side raises
the same. A refusal of the door itself (no token, no such route) has no kind.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import structlog

from lucius.entrypoints.http.problems import Answer, encoded, headers_of, problem, unexpected
from lucius.errors import LuciusError, Unauthenticated


def told(error: Exception, new_id: Callable[[], str], instance: str) -> Answer:
    """Status, body and headers for whatever a handler raised."""
    while isinstance(error, ExceptionGroup):  # what a task group makes of the error of its task
        error = error.exceptions[0]
    if not isinstance(error, LuciusError):
        document = unexpected(error, new_id, instance)
        return document["status"], encoded(document), headers_of(document["status"])
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log = structlog.get_logger(__name__)
        (log.warning if error.retryable else log.error)("refused", code=error.code, reason=error.message)
    errors = [{"pointer": p.pointer, "code": p.code, "detail": p.message} for p in error.problems]
    document = problem(
        error.status, error.code, error.message, instance=instance, errors=errors, kind=_kind(error)
    )
    return error.status, encoded(document), headers_of(error.status, error)


def stranger(error: Unauthenticated) -> Answer:
    """No token, or a wrong one: always the same bytes, whatever was asked for."""
    return error.status, encoded(problem(error.status, error.code, error.message)), headers_of(error.status)


def no_route(path: str) -> Answer:
    """The invoker knows no such path."""
    document = problem(404, "UNKNOWN_ROUTE", "There is no such route.", instance=path)
    return 404, encoded(document), headers_of(404)


def wrong_method(path: str, allowed: str) -> Answer:
    """The path takes another method."""
    detail = f"The route takes {allowed} only."
    document = problem(405, "METHOD_NOT_ALLOWED", detail, instance=path)
    return 405, encoded(document), [*headers_of(405), (b"allow", allowed.encode())]


def _kind(error: LuciusError) -> str:
    """The branch of the error tree."""
    return next(
        (kind.__name__ for kind in type(error).__mro__ if LuciusError in kind.__bases__), LuciusError.__name__
    )
