"""Ends jobs whose workflow is gone: terminated, timed out, or cancelled where we could not hear it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.commands import Cancel, Command, GiveUp
from lucius.engines.temporal.signalling import NEVER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.engines.temporal.talking import Signals
    from lucius.ports.ledger import Change

    Apply = Callable[[str, Command], Awaitable[Change | None]]

CANCELLED = "was cancelled"


class Closing:
    """Compares one open job with its workflow."""

    def __init__(self, signals: Signals, apply: Apply) -> None:
        self._signals = signals
        self._apply = apply

    async def close(self, job_id: str) -> str | None:
        """End the job if its workflow has ended; how that ended, or None if it is at work.

        A workflow that never started is the orchestrator's to start: its job is left alone.
        """
        ending = await self._signals.ending(job_id)
        if ending is None or ending == NEVER:
            return ending
        if ending == CANCELLED:
            command: Command = Cancel(force=True, reason="Its workflow was cancelled in Temporal.")
        else:
            command = GiveUp(reason=f"Its workflow {ending} before the job was over.")
        await self._apply(job_id, command)
        return ending
