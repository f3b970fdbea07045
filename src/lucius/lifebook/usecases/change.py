"""Read, decide, write; again when somebody else wrote first. The one way in which runs change."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import structlog

from lucius.errors import NotFound
from lucius.lifebook.core.commands import AnyCommand
from lucius.lifebook.core.decide import Decision, Refusal, decide
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Run
from lucius.lifebook.ports.store import RunConflictError, RunStore
from lucius.lifebook.ports.watching import UNWATCHED, Watch

TRIES = 50
"""Far more writers than a run has."""
_log = structlog.get_logger("lucius.lifebook")


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A run after a command, and why the command was refused if it was."""

    run: Run
    refused: Refusal | None = None
    acted: bool = False
    """Whether this call wrote something; False: refused, or it had happened before."""


class Changes:
    """Carries commands out."""

    def __init__(
        self, store: RunStore, *, policy: Policy, clock: Callable[[], int], watch: Watch = UNWATCHED
    ) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._watch = watch

    async def apply(self, job_id: str, command: AnyCommand, *, known: Run | None = None) -> Changed:
        """The run after the command. `known`: what the caller read last; it saves a read if it still holds.

        A refusal is answered, and logged; raises `NotFound` when there is no such run.
        """
        run = known
        for _ in range(TRIES):
            if run is None:
                run = await self._store.get(job_id)
            if run is None:
                raise NotFound(f"There is no run {job_id}.")
            answer = decide(run, command, self._clock(), self._policy)
            if isinstance(answer, Refusal):
                if run is known:  # it may be refused for what was true a moment ago
                    run = known = None
                    continue
                self._watch.refused(str(type(command).__struct_config__.tag), answer.code)
                _tell(run, command, answer)
                return Changed(run=run, refused=answer)
            if await self._written(run, answer):
                return Changed(run=answer.run, acted=answer.run is not run)
            run = None
        raise RunConflictError(f"The run {job_id} changes too quickly to be written; try again")

    async def _written(self, run: Run, decision: Decision) -> bool:
        if decision.run is run:
            return True
        try:
            await self._store.commit(run, decision)
        except RunConflictError:
            return False
        return True


def _tell(run: Run, command: AnyCommand, refusal: Refusal) -> None:
    # Waiting for a lock or a backoff is everyday; a move that the table does not have is not.
    level = _log.debug if refusal.until is not None else _log.warning
    level(
        "transition refused",
        job_id=run.job_id,
        workspace_id=run.workspace_id,
        trace_id=run.trace_id,
        status=run.status.value,
        command=type(command).__struct_config__.tag,
        code=refusal.code,
        reason=refusal.message,
    )
