"""The HTTP API, on any engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lucius import __version__
from lucius.adapters.schematics.files import FileSchematics
from lucius.adapters.schematics.watch import WatchFiles
from lucius.core.routing import topics
from lucius.entrypoints.api.app import create_app
from lucius.entrypoints.api.services import Services
from lucius.runtime import nature
from lucius.runtime.configured import Configured, step_defaults, tell_reload
from lucius.telemetry.asgi import ObservedApp
from lucius.usecases.admin import Admin
from lucius.usecases.control import Control
from lucius.usecases.directives import DirectiveDesk
from lucius.usecases.explain import Explain
from lucius.usecases.query import Query
from lucius.usecases.report import Report
from lucius.usecases.submit import Submit
from lucius.webhooks import guard
from lucius.wire.schemas import SchemaValidator

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from lucius.lifebook.desk import LifebookDesk
    from lucius.ports.engine import Engine
    from lucius.ports.ledger import Ledger
    from lucius.runtime.building.access import Access
    from lucius.runtime.building.storage import Storage
    from lucius.runtime.building.watching import Watching
    from lucius.runtime.settings import Settings


class Recipes(msgspec.Struct, frozen=True, kw_only=True):
    """What jobs are made from."""

    files: FileSchematics
    schematics: Configured
    topics: tuple[str, ...]
    """Of directives; they stay what they were at the start."""

    @property
    def watch(self) -> WatchFiles:
        """The duty that takes changed files over."""
        return WatchFiles(self.files, tell=tell_reload)


def open_recipes(settings: Settings) -> Recipes:
    """Read the configuration; raises what is wrong with it."""
    files = FileSchematics(settings.config, clock=nature.now_ms, defaults=step_defaults(settings))
    schematics = Configured(files, settings)
    return Recipes(
        files=files, schematics=schematics, topics=topics(two_grids=schematics.current().two_grids)
    )


def webhook_policy(access: Access) -> Callable[[], guard.Policy]:
    """This machine may be called as long as only this machine can ask for it."""
    return lambda: guard.Policy(allow_loopback=access.authenticator.open)


def build_api(
    settings: Settings,
    access: Access,
    watching: Watching,
    storage: Storage,
    recipes: Recipes,
    *,
    ledger: Ledger,
    engine: Engine,
    ready: Callable[[], dict[str, str]],
    lifebook: LifebookDesk | None = None,
) -> ASGIApp:
    """The application. `ledger`: as the API may use it, which may be less than the storage can do."""
    clock, new_id = nature.now_ms, nature.new_id
    schematics, usage = recipes.schematics, storage.ledger.usage
    policy = webhook_policy(access)
    control = Control(engine, ledger, schematics, clock=clock, new_id=new_id)
    services = Services(
        submit=Submit(
            engine,
            schematics,
            validator=SchemaValidator(),
            check_url=lambda url: guard.check_url(url, policy()),
            clock=clock,
            new_id=new_id,
            workspace_root=settings.workspace_uri(access.secrets.root),
        ),
        report=Report(engine, access.tokens.verify),
        control=control,
        query=Query(ledger, storage.deliveries, hub=watching.hub),
        explain=Explain(ledger, engine, storage.bus, schematics, usage=usage, clock=clock),
        directives=DirectiveDesk(storage.observed_bus, schematics, topics=recipes.topics),
        admin=Admin(
            ledger,
            engine,
            storage.bus,
            schematics,
            control,
            usage=usage,
            clock=clock,
            rounds=watching.metrics.rounds,
        ),
        authenticator=access.authenticator,
        ready=ready,
        clock=clock,
        new_id=new_id,
        metrics_text=watching.metrics.exposition,
        events_hub=watching.hub,
        version=__version__,
        lifebook=lifebook,
    )
    return ObservedApp(create_app(services), metrics=watching.metrics, traces=watching.traces)
