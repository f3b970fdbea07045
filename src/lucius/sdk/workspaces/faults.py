"""What went wrong with a file, told once for all stores: as a `StepFailure` with a code.

    not there               reading INPUT_NOT_FOUND, final      writing WORKSPACE_NOT_FOUND, retryable
    not allowed             reading INPUT_FORBIDDEN, final      writing WORKSPACE_FORBIDDEN, retryable
    anything else           STORE_UNAVAILABLE, retryable: time-outs, refused connections, 5xx, a full disk
    store cannot be opened  STORE_MISCONFIGURED, retryable

A document that is missing stays missing. A workspace that cannot be written is the operator's to mend,
and no fault of the document: the job waits and tries again. Messages name the file, never its query,
and nothing of what a store answered but the status.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path

from lucius.sdk.serving.outcomes import Final, Retryable, StepFailure
from lucius.sdk.workspaces.places import Place

_STATUS = re.compile(r"status code: ([1-5][0-9]{2})\b")
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP})
_DENIED = frozenset({errno.EACCES, errno.EPERM})


def of_reading(error: Exception, place: Place) -> StepFailure:
    """Why a file could not be read."""
    if _is_absent(error, place):
        return Final("INPUT_NOT_FOUND", f"{place.shown} does not exist.")
    if _is_denied(error):
        return Final("INPUT_FORBIDDEN", f"The service may not read {place.shown}.")
    return Retryable("STORE_UNAVAILABLE", f"{place.shown} could not be read: {_reason(error)}.")


def of_writing(error: Exception, place: Place) -> StepFailure:
    """Why a file could not be written."""
    if isinstance(error, FileNotFoundError):
        return Retryable("WORKSPACE_NOT_FOUND", f"There is no bucket or folder to write {place.shown} into.")
    if _is_denied(error):
        return Retryable("WORKSPACE_FORBIDDEN", f"The service may not write {place.shown}.")
    return Retryable("STORE_UNAVAILABLE", f"{place.shown} could not be written: {_reason(error)}.")


def of_opening(error: Exception, place: Place) -> StepFailure:
    """Why no connection to a store could be set up."""
    first = str(error).partition("\n")[0][:200]
    return Retryable(
        "STORE_MISCONFIGURED", f"The store of {place.scheme}://{place.authority} is not set up: {first}."
    )


def _is_absent(error: Exception, place: Place) -> bool:
    if isinstance(error, FileNotFoundError):
        return True
    return place.scheme == "file" and _errno(error, place) in _ABSENT


def _is_denied(error: Exception) -> bool:
    # By name: obstore is loaded only where a store is opened.
    return isinstance(error, PermissionError) or type(error).__name__ in {
        "PermissionDeniedError",
        "UnauthenticatedError",
    }


def _errno(error: Exception, place: Place) -> int | None:
    """The number of a local failure: the store tells all kinds alike, so the file is asked."""
    if isinstance(error, OSError):
        return error.errno
    try:
        Path("/", place.key).open("rb").close()
    except OSError as found:
        return found.errno
    return None


def _reason(error: Exception) -> str:
    text = str(error)
    if status := _STATUS.search(text):
        return f"the store answered {status[1]}"
    if "timed out" in text or "TimedOut" in text:
        return "the store took too long"
    if "error sending request" in text:
        return "the store did not answer"
    return "the store failed"
