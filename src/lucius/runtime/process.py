"""What a process is made of, at rest. `lifecycle.py` starts and stops it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from lucius.ports.bus import Bus
    from lucius.ports.duties import Duty
    from lucius.ports.engine import Engine
    from lucius.ports.keyring import Keyring
    from lucius.runtime.building.driving import Driver
    from lucius.runtime.building.lifebook import Lifebook
    from lucius.runtime.building.storage import AnyLedger
    from lucius.runtime.configured import Configured
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.server import Listener
    from lucius.runtime.settings import Settings
    from lucius.runtime.state import State
    from lucius.runtime.workers import Workers
    from lucius.security.authenticate import Authenticator
    from lucius.services.echo import EchoService
    from lucius.telemetry.metrics import Metrics
    from lucius.telemetry.traces import Traces
    from lucius.usecases.query import Hub

Work: TypeAlias = Callable[[], Awaitable[None]]


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What runs beside `lucius up` with Temporal."""

    address: str
    """Where Temporal is."""
    door: Listener
    """The invoker's internal API, for the worker."""
    worker: Workers
    """The temporal worker."""
    server: Workers | None
    """The development server; None: the server is somebody else's."""


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process that serves HTTP and works in the background."""

    settings: Settings
    secrets: Secrets
    state: State
    metrics: Metrics
    traces: Traces
    app: ASGIApp
    """What its listener serves."""
    ledger: AnyLedger
    bus: Bus
    background: tuple[Work, ...] = ()
    """Runs from start to end."""
    duties: tuple[Duty, ...] = ()
    driver: Driver | None = None
    """What moves jobs; None: other processes do."""
    closing: tuple[Callable[[], Awaitable[None] | None], ...] = ()
    """What is let go at the very end, in this order, after bus and ledger."""


class Lucius(Process, frozen=True, kw_only=True):
    """A process with the HTTP API: `lucius up`, `lucius api`."""

    engine: Engine
    schematics: Configured
    keyring: Keyring
    authenticator: Authenticator
    hub: Hub
    echo: EchoService | None
    workers: Workers | None
    """The reference services."""
    beside: Beside | None = None
    lifebook: Lifebook | None = None
