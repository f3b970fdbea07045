"""Where analytics events go."""

from __future__ import annotations

from typing import Protocol

from lucius.lifebook.core.events import RunEvent


class Analytics(Protocol):
    """Takes events. An event may come twice after a crash, always with the same `event_id`."""

    async def tell(self, event: RunEvent) -> None:
        """Return when it is taken over; raise `Unavailable` otherwise."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
