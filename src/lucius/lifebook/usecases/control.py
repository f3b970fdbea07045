"""Cancel a run, and run a finished one again as a new run."""

from __future__ import annotations

from lucius.errors import Refused
from lucius.lifebook.core.commands import Cancel
from lucius.lifebook.core.keys import KeySpace
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import Status
from lucius.lifebook.ports.store import Created
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.create import Create, RunRequest


class Control:
    """What people ask of runs that exist."""

    def __init__(self, changes: Changes, create: Create) -> None:
        self._changes = changes
        self._create = create

    async def cancel(self, run: Run, *, reason: str = "") -> Run:
        """The run, canceled; a second time is no error. Raises `Refused` when it ended another way."""
        changed = await self._changes.apply(run.job_id, Cancel(message=reason))
        if changed.refused is not None and changed.run.status is not Status.CANCELED:
            raise Refused(changed.refused.message, code=changed.refused.code)
        return changed.run

    async def retry(self, run: Run, *, user_id: str) -> Created:
        """A new run of the same workflow and input, from its first step; once for each run that has ended.

        Asked again, it is the run that the first retry made. Raises `Refused` while the run is open.
        """
        if not run.terminal:
            raise Refused(f"The run {run.job_id} is {run.status} and still goes on; cancel it first")
        return await self._create.create(
            RunRequest(
                workspace_id=run.workspace_id,
                user_id=user_id,
                workflow_id=run.workflow_id,
                input=run.input,
                key=f"retry:{run.job_id}",
                space=KeySpace.RETRY,
                retry_of=run.job_id,
            )
        )
