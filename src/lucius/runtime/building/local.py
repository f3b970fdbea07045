"""Services that come with the process: echo, in the process itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.runtime import nature
from lucius.services.echo import EchoService

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lucius.runtime.building.storage import Storage
    from lucius.runtime.settings import Settings


def echo(settings: Settings, storage: Storage, topics: Sequence[str]) -> EchoService | None:
    """All services at once, or those that the settings name."""
    if settings.services != "echo":
        return None
    return EchoService(
        storage.observed_bus,
        clock=nature.now_ms,
        sleep=nature.sleep,
        chance=nature.spread,
        step_types=[name.strip() for name in settings.echo_step_types.split(",") if name.strip()] or None,
        delay=settings.echo_delay,
        failure_rate=settings.echo_failure_rate,
        topics=topics,
    )
