"""Hold a run: the record as this worker knows it, its lock, and the heartbeat that keeps it.

Every lease/3 the heartbeat extends the lock and hides the message for longer than the lock lasts, so that a
crashed worker's message comes back to a lock that has ended. When the record says that the run is no longer
ours (canceled, or taken over), or the store was away for a whole lease, the step is told to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from lucius.errors import LuciusError, NotFound, Unavailable
from lucius.lifebook.core.commands import AnyCommand, Beat
from lucius.lifebook.core.run import Run
from lucius.lifebook.ports.queue import Delivery, RunQueue
from lucius.lifebook.usecases.change import Changed, Changes
from lucius.lifebook.workflows import StopToken

BEATS_PER_LEASE = 3
MARGIN_SECONDS = 5.0
"""How much longer than its lock a message is hidden."""
RETRY_SECONDS = 0.5
_log = structlog.get_logger("lucius.lifebook")


class Held:
    """A run that this worker holds."""

    def __init__(
        self,
        run: Run,
        token: str,
        changes: Changes,
        *,
        lease: int,
        clock: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        missed: Callable[[], None] = lambda: None,
    ) -> None:
        """`missed` is told of every heartbeat that could not be written."""
        self.run = run
        self.token = token
        self.stop = StopToken()
        self.stopped = asyncio.Event()
        self._changes = changes
        self._lease = lease
        self._clock = clock
        self._sleep = sleep
        self._missed = missed
        self._turn = asyncio.Lock()

    async def apply(self, command: AnyCommand) -> Changed:
        """Change the run, one write at a time, from what we know of it."""
        async with self._turn:
            changed = await self._changes.apply(self.run.job_id, command, known=self.run)
            self.run = changed.run
            return changed

    async def insist(self, command: AnyCommand) -> Changed:
        """As `apply`, again and again while the store is away and the lock lasts: the work is done."""
        while True:
            try:
                return await self.apply(command)
            except Unavailable:
                if self.left <= 0:
                    raise
            await self._sleep(RETRY_SECONDS)

    @property
    def left(self) -> int:
        """Milliseconds that the lock lasts, as far as we know."""
        lock = self.run.lock
        return 0 if lock is None else lock.expires_at - self._clock()

    def end(self, reason: str) -> None:
        """Tell the step to stop."""
        self.stop.stop(reason)
        self.stopped.set()

    async def beat(self, queue: RunQueue, delivery: Delivery) -> None:
        """Keep lock and message, until cancelled or until the run is not ours any more."""
        while True:
            await self._sleep(self._lease / 1000 / BEATS_PER_LEASE)
            try:
                changed = await self.apply(Beat(token=self.token))
                if changed.refused is not None:
                    self.end(f"the run is {changed.run.status}" if changed.run.terminal else "lock lost")
                    return
                await queue.hide(delivery, self._lease / 1000 + MARGIN_SECONDS)
            except NotFound:
                self.end("the run is gone")
                return
            except LuciusError as error:
                self._missed()
                _log.warning("heartbeat missed", job_id=self.run.job_id, code=error.code)
                if self.left <= 0:
                    self.end("the store was away for longer than the lock lasts")
                    return
