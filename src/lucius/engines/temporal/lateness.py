"""Whose fault it is that nothing was heard: a service is not late while we could not listen.

After a start, or when bus or Temporal were away, replies are on their way that nobody could take. Until
they had a moment to come in, and as long as some of them wait unread, no attempt is given up: whoever asks
is told to ask again. A backlog that never ends does not protect anybody for ever (`LONGEST`); an absence
does, however long it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core import events as ev
from lucius.core.decide import Chance, decide
from lucius.core.timing import due_at
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.commands import Tick
    from lucius.core.job import Job
    from lucius.ports.bus import Bus

LONGEST = 120_000
"""Milliseconds, counted from its due time or from when we could listen again, whichever is later, after
which an attempt is given up although replies wait unread."""
_LOST = (ev.StepRetryScheduled, ev.StepFailed)


class Lateness:
    """Knows when this invoker could last not listen. Times are the ledger's, in milliseconds."""

    def __init__(self, bus: Bus, subscription: str, *, clock: Callable[[], int], grace: int) -> None:
        """`grace`: how long replies may take to come in once they can."""
        self._bus = bus
        self._subscription = subscription
        self._clock = clock
        self._grace = grace
        self._listens_from = clock() + grace

    def hindered(self) -> None:
        """The bus, or Temporal, was away just now."""
        self._listens_from = self._clock() + self._grace

    async def check(self, job: Job, tick: Tick) -> None:
        """Raise `Unavailable` if time would end an attempt that may have answered already."""
        now = self._clock()
        decision = decide(job, tick, now, Chance(lease_id=""))
        if not any(isinstance(event, _LOST) for event in decision.events):
            return
        if now >= self._listens_from and not await self._unread():
            return
        if now - max(due_at(job) or now, self._listens_from) > LONGEST:
            return
        message = f"Replies are still coming in; whether job {job.job_id} is late is judged after them."
        raise Unavailable(message, code="CATCHING_UP")

    async def _unread(self) -> int:
        """Replies that wait; raises `Unavailable` while the bus is away."""
        try:
            # Reading may go on where nobody can write, and then no reply can come in: so ask for nothing.
            await self._bus.renew(())
            return (await self._bus.backlog()).get(self._subscription, 0)
        except Unavailable:
            self.hindered()
            raise
