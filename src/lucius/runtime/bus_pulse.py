"""Whether the bus takes anything: asked from time to time, told by `/readyz` and once in the log.

A process goes on without the bus: jobs are accepted, and directives wait. So the answer is for people, not
for load balancers. Whoever judges lateness hears of it too: no reply can come in meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from lucius.errors import Unavailable
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.ports.bus import Bus
    from lucius.runtime.state import State

AWAY = "the bus takes nothing; directives and replies wait"


class BusPulse:
    """A duty of every process that shares a bus with others."""

    name = "bus-pulse"
    interval = 2.0

    def __init__(self, bus: Bus, state: State, *, hindered: Callable[[], None] = lambda: None) -> None:
        self._bus = bus
        self._state = state
        self._hindered = hindered

    async def run_once(self) -> Report:
        """Ask for nothing, which is enough to hear whether it could be done."""
        log = structlog.get_logger("lucius.bus")
        missed = "bus" in self._state.missed
        try:
            await self._bus.renew(())
        except Unavailable as error:
            self._hindered()
            self._state.missed["bus"] = AWAY
            if not missed:
                log.warning("the bus does not answer", code=error.code, reason=error.message)
        else:
            if missed:
                del self._state.missed["bus"]
                log.info("the bus answers again")
        return Report(duty=self.name)
