"""Errors of the AWS clients as ours, in one place.

the answer is missing: connection, time limit, 5xx    AnswerLostError, an Unavailable: it may have happened
throttled, or two transactions met                    BusyError, an Unavailable: it has not happened
the request is malformed                              Broken
everything else: rights, no such table                Unavailable
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from http import HTTPStatus

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
)

from lucius.errors import Broken, LuciusError, Unavailable

CODE = "LIFEBOOK_UNAVAILABLE"
BUSY = frozenset({
    "TransactionConflictException", "TransactionInProgressException", "ThrottlingException", "Throttling",
    "ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled",
    # As reasons of a cancelled transaction:
    "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded",
})  # fmt: skip
MISSING = frozenset({"ResourceNotFoundException", "NonExistentQueue", "QueueDoesNotExist"})
MALFORMED = frozenset({
    "ValidationException", "ValidationError", "SerializationException",
    "ItemCollectionSizeLimitExceededException", "InvalidParameterValue", "InvalidMessageContents",
    "TransactionCanceledException",  # conditions and conflicts were taken out before
})  # fmt: skip


class AnswerLostError(Unavailable):
    """Nobody knows whether it was done."""


class BusyError(Unavailable):
    """It was not done; the same may pass in a moment."""


@contextlib.contextmanager
def mapped(doing: str) -> Iterator[None]:
    """Errors of AWS in this block are raised as ours; `doing` says what was tried."""
    try:
        yield
    except (ClientError, BotoCoreError, HTTPClientError, OSError) as error:
        raise fault(error, doing) from error


def code_of(error: ClientError) -> str:
    """AWS's name for it, without the prefix that SQS has."""
    return str(error.response.get("Error", {}).get("Code", "")).rpartition(".")[2]


def fault(error: Exception, doing: str) -> LuciusError:
    """What an error of the clients means to us."""
    if isinstance(error, ParamValidationError):
        return Broken(f"AWS cannot {doing}: {error}", code="LIFEBOOK_BROKEN_REQUEST")
    if isinstance(error, NoCredentialsError):
        return Unavailable(f"AWS cannot {doing}: there are no credentials", code=CODE)
    if not isinstance(error, ClientError):
        return AnswerLostError(f"AWS did not answer when asked to {doing}: {error!r}", code=CODE)
    code, text = code_of(error), f"AWS did not {doing}: {error}"
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", HTTPStatus.BAD_REQUEST)
    if code in BUSY:
        return BusyError(text, code=CODE)
    if code in MALFORMED:
        return Broken(text, code="LIFEBOOK_BROKEN_REQUEST")
    # A token is used for one write only: whoever finds it taken was there before, and did not hear.
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or code == "IdempotentParameterMismatchException":
        return AnswerLostError(text, code=CODE)
    if code in MISSING:
        text = f"{text}; deploy/aws makes it, or `lucius lifebook provision` on a double"
    return Unavailable(text, code=CODE)
