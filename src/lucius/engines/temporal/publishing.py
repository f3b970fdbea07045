"""Waits for the bus to have taken a directive.

The relay publishes what was committed, here or in another invoker, and notes it in the ledger. Whoever
asked is answered when the ledger knows: by then the clock of the ACK runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from lucius.core import commands as cmd
from lucius.core.states import RUNNING_JOB, StepState
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lucius.core.job import Job
    from lucius.dispatch.relay import Relay
    from lucius.ports.ledger import Change, Judge, Ledger

    Judging = Callable[[cmd.Command], Judge]


class Publishing:
    """The invoker's ear at the relay."""

    def __init__(self, ledger: Ledger, relay: Relay, judging: Judging, patience: float) -> None:
        self._ledger = ledger
        self._relay = relay
        self._judging = judging
        self._patience = patience
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._notes: set[asyncio.Future[Change | None]] = set()

    def note(self, job_id: str, command: cmd.Command) -> None:
        """What the relay says: `Published`, `PublishFailed`. Durable with the next commit."""
        committed = asyncio.ensure_future(
            self._ledger.change(job_id, self._judging(command), patient=job_id not in self._waiting)
        )
        self._notes.add(committed)
        committed.add_done_callback(lambda done: self._noted(job_id, done))

    async def again(self, job_ids: list[str]) -> int:
        """Offer the open directives of these jobs to the bus."""
        return await self._relay.refetch(job_ids)

    @contextlib.contextmanager
    def awaited(self, job_id: str) -> Iterator[asyncio.Event]:
        """Somebody waits for directives of this job: what the relay says of them is written at once."""
        heard = asyncio.Event()
        self._waiting.setdefault(job_id, set()).add(heard)
        try:
            yield heard
        finally:
            waiting = self._waiting[job_id]
            waiting.discard(heard)
            if not waiting:
                del self._waiting[job_id]

    async def await_sent(self, job: Job) -> Job:
        """The job once nothing of it waits for the bus; raises `Unavailable` when that takes too long.

        Nothing is offered to the bus here. The relay heard of the attempt from the ledger; if that relay
        died, a Tick finds the directive unsent and has it sent again, no oftener than its backoff allows.
        """
        if not _unsent(job):
            return job
        try:
            with self.awaited(job.job_id) as heard:
                async with asyncio.timeout(self._patience):
                    return await self._sent(job, heard)
        except TimeoutError:
            message = f"The bus has not taken the directive of job {job.job_id} yet; it is being tried."
            raise Unavailable(message, code="BUS_UNAVAILABLE") from None

    async def _sent(self, job: Job, heard: asyncio.Event) -> Job:
        while True:
            heard.clear()  # before looking: what is noted meanwhile wakes us
            found = await self._ledger.job(job.job_id)
            if found is None or not _unsent(found):
                return found or job
            await heard.wait()

    def _noted(self, job_id: str, done: asyncio.Future[Change | None]) -> None:
        self._notes.discard(done)
        if done.cancelled() or done.exception() is not None:
            return  # not durable: whoever waits asks again
        for heard in self._waiting.get(job_id, ()):
            heard.set()


def _unsent(job: Job) -> bool:
    return job.state in RUNNING_JOB and any(step.state is StepState.DISPATCHING for step in job.steps)
