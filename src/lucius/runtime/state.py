"""Whether Lucius is ready, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lucius.adapters.ledgers.sqlite import SqliteLedger


class State:
    """Moves from starting to running to draining."""

    def __init__(self) -> None:
        self.phase = "starting"

    def readiness(self, ledger: SqliteLedger) -> dict[str, str]:
        """Component -> `ok`, or the reason why requests should go elsewhere."""
        return {
            "process": "ok" if self.phase == "running" else self.phase,
            "ledger": "ok" if ledger.failure is None else str(ledger.failure),
        }
