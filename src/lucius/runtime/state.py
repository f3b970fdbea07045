"""Whether Lucius is ready, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.entrypoints.http.readiness import MISSED

if TYPE_CHECKING:
    from typing import Protocol

    class Fallible(Protocol):
        """A ledger that may have stopped for good."""

        @property
        def failure(self) -> BaseException | None:
            """Why."""
            ...


class State:
    """Moves from starting to running to draining."""

    def __init__(self, *parts: str) -> None:
        """`parts`: what may be missed without being a reason to send requests elsewhere."""
        self.phase = "starting"
        self.missed: dict[str, str] = {}
        """Parts that are away, and what that means."""
        self._parts = parts

    @property
    def draining(self) -> bool:
        """Whether the process is about to end."""
        return self.phase == "draining"

    def readiness(self, ledger: Fallible) -> dict[str, str]:
        """Component -> `ok`, or the reason why requests should go elsewhere, or what is missed."""
        found = {
            "process": "ok" if self.phase == "running" else self.phase,
            "ledger": "ok" if ledger.failure is None else str(ledger.failure),
        }
        for part in self._parts:
            found[part] = MISSED + self.missed[part] if part in self.missed else "ok"
        return found
