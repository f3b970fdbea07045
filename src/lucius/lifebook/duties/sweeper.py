"""The sweeper: sends the message of a run again when it seems lost. It only wakes; the worker decides.

Lost are: the send after a creation (`pending` for too long), a message that outlived the queue's retention,
one that was deleted by a worker that crashed before it wrote. An extra message does no harm: the worker
takes a run that may be taken, and deletes messages that are older than the newest.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from lucius.errors import Broken, NotFound
from lucius.lifebook.core.commands import Resend
from lucius.lifebook.ports.store import RunStore
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.create import Create
from lucius.ports.duties import Report

_log = structlog.get_logger("lucius.lifebook")


class Sweeper:
    """Finds open runs that nothing will wake."""

    name = "lifebook-sweeper"

    def __init__(
        self,
        store: RunStore,
        changes: Changes,
        create: Create,
        *,
        clock: Callable[[], int],
        interval: float = 5.0,
        batch: int = 100,
    ) -> None:
        self._store = store
        self._changes = changes
        self._create = create
        self._clock = clock
        self._batch = batch
        self.interval = interval

    async def run_once(self) -> Report:
        """Send again what is overdue. The new number is written first: two sweepers send one message each."""
        overdue = await self._store.due(self._clock(), self._batch)
        sent = 0
        for run in overdue:
            try:
                changed = await self._changes.apply(run.job_id, Resend(), known=run)
                if changed.acted:
                    await self._create.send(changed.run)
                    sent += 1
            except (Broken, NotFound) as error:  # one that cannot be sent must not hold up the others
                _log.error("run not sent again", job_id=run.job_id, code=error.code, reason=error.message)
        return Report(
            duty=self.name, acted=sent, details={"sent": sent}, more=len(overdue) == self._batch and sent > 0
        )
