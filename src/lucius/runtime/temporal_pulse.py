"""Whether Temporal answers: asked from time to time, told by `/readyz` and once in the log.

A process goes on without Temporal: jobs are accepted and started later, commands are committed and told
later. So the answer is for people, not for load balancers.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from lucius.ports.duties import Report

if TYPE_CHECKING:
    from temporalio.client import Client

    from lucius.runtime.state import State

AWAY = "Temporal does not answer; what it must be told is told later"
_ASK = timedelta(seconds=2)


class TemporalPulse:
    """A duty of every process that talks to Temporal."""

    name = "temporal-pulse"
    interval = 2.0

    def __init__(self, client: Client, state: State, address: str) -> None:
        self._client = client
        self._state = state
        self._address = address
        state.missed["temporal"] = "has not answered yet"

    async def run_once(self) -> Report:
        """Ask, and note what was answered."""
        from temporalio.service import RPCError

        log = structlog.get_logger("lucius.temporal")
        before = self._state.missed.get("temporal")
        try:
            good = await self._client.service_client.check_health(timeout=_ASK)
        except (RPCError, RuntimeError):  # RuntimeError: no connection could be made
            good = False
        if good and before is not None:
            del self._state.missed["temporal"]
            log.info("Temporal answers", address=self._address)
        elif not good and before != AWAY:
            self._state.missed["temporal"] = AWAY
            log.warning("Temporal does not answer", address=self._address)
        return Report(duty=self.name)
