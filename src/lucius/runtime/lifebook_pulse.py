"""Whether store and queue of lifebook runs answer: asked from time to time, told by `/readyz` and in the log.

The jobs API goes on without them, so their absence is no reason to send requests elsewhere; requests for
runs are told that they cannot be served now, each by itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from lucius.errors import LuciusError
from lucius.ports.duties import Report

if TYPE_CHECKING:
    from lucius.runtime.building.lifebook_backends import Backend
    from lucius.runtime.state import State

PART = "lifebook"
NOBODY = "pulse"
"""A run that there never is: asking for it is the cheapest question."""
PATIENCE = 5.0


class LifebookPulse:
    """A duty of every process that serves runs."""

    name = "lifebook-pulse"
    interval = 5.0

    def __init__(self, backend: Backend, state: State, *, patience: float = PATIENCE) -> None:
        """`patience`: seconds for an answer."""
        self._backend = backend
        self._state = state
        self._patience = patience

    async def run_once(self) -> Report:
        """Ask both for nothing."""
        log = structlog.get_logger("lucius.lifebook")
        before, why = self._state.missed.get(PART), await self._why_not()
        if why is not None:
            self._state.missed[PART] = f"{why}; lifebook runs wait, jobs do not"
            if before is None:
                log.warning("lifebook runs cannot be served", reason=why)
        elif before is not None:
            del self._state.missed[PART]
            log.info("lifebook runs are served again")
        return Report(duty=self.name)

    async def _why_not(self) -> str | None:
        for name, ask in (
            ("store", lambda: self._backend.store.get(NOBODY)),
            ("queue", self._backend.queue.depth),
        ):
            try:
                async with asyncio.timeout(self._patience):
                    await ask()
            except TimeoutError:
                return f"the {name} does not answer within {self._patience:g} s"
            except LuciusError as error:
                return f"the {name} cannot be used ({error.code}): {error.message}"
        return None
