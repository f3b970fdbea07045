"""Whether an invoker answers the API: asked from time to time, told by `/readyz` and once in the log.

The API goes on without one: jobs are accepted. Replies over HTTP and control are refused for now, so people
should know; for load balancers it is no reason to go elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import structlog

from lucius.ports.duties import Report
from lucius.runtime.invoker_pulse import answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lucius.runtime.state import State

AWAY = "no invoker answers; replies over HTTP, cancel, pause and resume are refused, and no job goes on"
_PATIENCE = 2
"""Questions without answer before it is said: an invoker that starts beside us needs a moment."""


class InvokerWatch:
    """A duty of the API where invokers are processes of their own."""

    name = "invoker-pulse"
    interval = 2.0

    def __init__(self, urls: Sequence[str], state: State) -> None:
        self._urls = tuple(urls)
        self._state = state
        self._silent = 0

    async def run_once(self) -> Report:
        """Ask each address until one answers."""
        log = structlog.get_logger("lucius.invoker")
        async with httpx2.AsyncClient(timeout=2.0, trust_env=False) as http:
            for url in self._urls:
                if await answers(http, url):
                    self._silent = 0
                    if self._state.missed.pop("invoker", None) is not None:
                        log.info("an invoker answers again")
                    return Report(duty=self.name)
        self._silent += 1
        if self._silent >= _PATIENCE:
            if "invoker" not in self._state.missed:
                log.warning("no invoker answers", urls=list(self._urls))
            self._state.missed["invoker"] = AWAY
        return Report(duty=self.name)
