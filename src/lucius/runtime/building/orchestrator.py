"""`lucius api` with Temporal: it creates jobs and starts their workflows; the rest is the invoker's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.adapters.invokers.http import HttpInvoker
from lucius.adapters.observed_invoker import ObservedInvoker
from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.engines.temporal.ownership import CreateOnly
from lucius.runtime import nature
from lucius.runtime.building.access import open_access
from lucius.runtime.building.front import build_api, open_recipes
from lucius.runtime.building.local import echo
from lucius.runtime.building.outbox import keys_of_issuers
from lucius.runtime.building.storage import shared
from lucius.runtime.building.temporal import open_client, watched_temporal, workflow_starts
from lucius.runtime.building.watching import open_watching
from lucius.runtime.invoker_token import invoker_token
from lucius.runtime.process import Lucius
from lucius.runtime.reference_workers import workers
from lucius.runtime.state import State
from lucius.runtime.temporal_address import address_of
from lucius.webhooks.outgoing import deliveries_for

if TYPE_CHECKING:
    from lucius.runtime.building.storage import OnFailure
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings


async def build_orchestrator(settings: Settings, secrets: Secrets, on_failure: OnFailure | None) -> Lucius:
    """The API beside its invokers."""
    access, watching, recipes = (
        open_access(settings, secrets),
        open_watching(settings),
        open_recipes(settings),
    )
    storage = shared(settings, watching, recipes.topics, on_failure, writes=False)
    watching.watch(storage.ledger, storage.bus, limit=recipes.schematics.system_limit)
    ledger = CreateOnly(storage.ledger)
    client = await open_client(settings, address_of(settings), watching.traces)
    starts = workflow_starts(settings, client, watching)
    invoker = HttpInvoker(",".join(settings.invoker_urls), invoker_token(settings, secrets.invoker))
    asking = ObservedInvoker(invoker, watching.metrics.observe_invoker)
    engine = TemporalEngine(ledger, starts, asking, tell=deliveries_for)
    state = State("temporal")
    return Lucius(
        settings=settings,
        secrets=secrets,
        state=state,
        metrics=watching.metrics,
        traces=watching.traces,
        app=build_api(
            settings, access, watching, storage, recipes,
            ledger=ledger, engine=engine, ready=lambda: state.readiness(storage.ledger),
        ),
        ledger=storage.ledger,
        bus=storage.bus,
        background=(*keys_of_issuers(access), *storage.watch),
        duties=(
            LostStarts(ledger, starts.for_repairs(), clock=nature.now_ms),
            recipes.watch,
            access.tokens,
            watched_temporal(settings, client, address_of(settings), state, watching),
        ),
        closing=(invoker.close, access.keyring.close, secrets.close, watching.traces.close),
        engine=engine,
        schematics=recipes.schematics,
        keyring=access.keyring,
        authenticator=access.authenticator,
        hub=watching.hub,
        echo=echo(settings, storage, recipes.topics),
        workers=workers(settings, secrets.root, access.worker_keys),
    )  # fmt: skip
