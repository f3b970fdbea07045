"""What a workflow may do: ask the invoker. Nothing else leaves the worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from lucius.core.admission import Limits
from lucius.core.commands import Cancel
from lucius.errors import LuciusError
from lucius.ports.invoker import Advance, Advanced

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lucius.ports.invoker import Invoker

UNKNOWN_TRIES = 8
"""Answers "no such job" that it takes to believe it, some 20 s apart in all. A worker that serves a foreign
task queue, or an invoker on the wrong directory, gives that answer too, and it ends the workflow for good."""
TOKEN_REFUSED = "INVOKER_TOKEN_REFUSED"  # noqa: S105  a code
CANCELLED_THERE = "The workflow was cancelled in Temporal."


class InvokerActivities:
    """The invoker's calls as activities. Any failure is tried again: what is asked is safe to repeat."""

    def __init__(self, invoker: Invoker, *, unknown_tries: int = UNKNOWN_TRIES) -> None:
        self._invoker = invoker
        self._unknown_tries = unknown_tries
        self._refused = False
        """Whether the last answer was that our token does not fit."""

    def all(self) -> list[Callable[..., Any]]:
        """For the worker."""
        return [self.advance, self.cancel]

    @activity.defn
    async def advance(self, ask: Advance) -> Advanced:
        """Go on with a job."""
        try:
            found = await self._invoker.advance(ask)
        except LuciusError as error:
            raise self._failed(ask.job_id, error) from error
        self._refused = False
        if (
            found.standing is None
            and activity.in_activity()
            and activity.info().attempt < self._unknown_tries
        ):
            message = "The invoker asked does not know this job; perhaps it was the wrong one."
            raise ApplicationError(message, type="JOB_UNKNOWN", category=ApplicationErrorCategory.BENIGN)
        return found

    @activity.defn
    async def cancel(self, tenant_id: str, job_id: str) -> None:  # noqa: ARG002  shown in the history
        """Tell the ledger of a cancellation that came from Temporal."""
        try:
            await self._invoker.control(job_id, Cancel(reason=CANCELLED_THERE), Limits())
        except LuciusError as error:
            raise self._failed(job_id, error) from error

    def _failed(self, job_id: str, error: LuciusError) -> ApplicationError:
        """An error people can read in Temporal, by its code; in the log it is a line, not a traceback.

        That a part is away is no news for the log. A token that does not fit is said once, for it keeps every
        job from its work.
        """
        again, self._refused = self._refused, error.code == TOKEN_REFUSED
        if not error.retryable and not (again and self._refused):
            structlog.get_logger("lucius.temporal").warning(
                "the invoker refuses", code=error.code, reason=error.message, jobId=job_id
            )
        return ApplicationError(error.message, type=error.code, category=ApplicationErrorCategory.BENIGN)
