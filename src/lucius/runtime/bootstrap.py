"""Chooses what to put together: which process, on which engine. The parts are built in `building/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lucius.runtime import reference
from lucius.runtime.building.storage import make_room
from lucius.runtime.process import Lucius, Process
from lucius.runtime.secrets import Secrets
from lucius.runtime.temporal_address import require_temporal

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.runtime.settings import Settings

    OnFailure = Callable[[BaseException], None]

__all__ = ["Lucius", "Role", "build", "build_invoker"]

Role = Literal["up", "api"]
"""`up`: everything in one process; `api`: with Temporal, the orchestrator beside its invokers."""


async def build(settings: Settings, *, role: Role = "up", on_failure: OnFailure | None = None) -> Lucius:
    """A process with the HTTP API, put together and at rest."""
    if settings.services == "reference":
        reference.require()
    if settings.engine == "temporal":
        require_temporal()
    make_room(settings)
    if role == "api":  # it takes runs; `lucius lifebook worker` executes them
        settings = settings.model_copy(update={"lifebook_concurrency": 0})
    secrets = Secrets(settings)
    if settings.engine == "outbox":
        from lucius.runtime.building.outbox import build_outbox

        return await build_outbox(settings, secrets, on_failure)
    if role == "api":
        from lucius.runtime.building.orchestrator import build_orchestrator

        return await build_orchestrator(settings, secrets, on_failure)
    from lucius.runtime.building.together import build_together

    return await build_together(settings, secrets, on_failure)


async def build_invoker(settings: Settings, *, on_failure: OnFailure | None = None) -> Process:
    """An invoker, put together and at rest."""
    require_temporal()
    make_room(settings)
    from lucius.runtime.building import invoker

    return await invoker.build_invoker(settings, Secrets(settings), on_failure)
