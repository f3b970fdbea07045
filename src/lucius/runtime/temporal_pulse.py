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
_PATIENCE = 2
"""Questions without answer before it is said: a server that starts beside us needs a moment."""


class TemporalPulse:
    """A duty of every process that talks to Temporal."""

    name = "temporal-pulse"
    interval = 2.0

    def __init__(self, client: Client, state: State, address: str) -> None:
        self._client = client
        self._state = state
        self._address = address
        self._silent = 0
        state.missed["temporal"] = AWAY

    async def run_once(self) -> Report:
        """Ask, and note what was answered."""
        from temporalio.service import RPCError

        log = structlog.get_logger("lucius.temporal")
        try:
            good = await self._client.service_client.check_health(timeout=_ASK)
        except (RPCError, RuntimeError):  # RuntimeError: no connection could be made
            good = False
        if good:
            if self._state.missed.pop("temporal", None) is not None:
                log.info("Temporal answers", address=self._address)
            self._silent = 0
        else:
            self._state.missed["temporal"] = AWAY
            self._silent += 1
            if self._silent == _PATIENCE:
                log.warning("Temporal does not answer", address=self._address)
        return Report(duty=self.name)
