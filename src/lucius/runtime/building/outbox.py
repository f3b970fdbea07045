"""`lucius up` and `lucius api` with the outbox engine: one process that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.dispatch.recovery import recover
from lucius.dispatch.relay import Relay
from lucius.engines.outbox.due import DueJobs
from lucius.engines.outbox.engine import OutboxEngine
from lucius.runtime import nature
from lucius.runtime.building.access import Access, open_access
from lucius.runtime.building.driving import Driver, directives, intakes, retention, webhook_sender
from lucius.runtime.building.front import build_api, open_recipes, webhook_policy
from lucius.runtime.building.local import echo
from lucius.runtime.building.storage import Storage, exclusive
from lucius.runtime.building.watching import Watching, open_watching
from lucius.runtime.leadership import Leadership
from lucius.runtime.process import Lucius, Work
from lucius.runtime.reference_workers import workers
from lucius.runtime.secrets import Secrets
from lucius.runtime.state import State
from lucius.webhooks.outgoing import deliveries_for

if TYPE_CHECKING:
    from lucius.runtime.building.storage import OnFailure
    from lucius.runtime.settings import Settings


def build_outbox(settings: Settings, secrets: Secrets, on_failure: OnFailure | None) -> Lucius:
    """API, engine and bus together."""
    access, watching, recipes = (
        open_access(settings, secrets),
        open_watching(settings),
        open_recipes(settings),
    )
    storage = exclusive(settings, watching, recipes.topics, on_failure)
    watching.watch(storage.ledger, storage.bus, limit=recipes.schematics.system_limit)
    relay = Relay(storage.ledger, storage.observed_bus)
    engine = OutboxEngine(
        storage.ledger,
        relay,
        render=directives(settings, access.tokens, watching),
        tell=deliveries_for,
        clock=nature.now_ms,
        chance=nature.chance,
        untraced=watching.metrics.observe_reply,
    )
    state, ledger = State(), storage.ledger
    due = DueJobs(ledger, storage.bus, engine, clock=nature.now_ms, interval=settings.sweep_seconds)
    return Lucius(
        settings=settings,
        secrets=secrets,
        state=state,
        metrics=watching.metrics,
        traces=watching.traces,
        app=build_api(
            settings, access, watching, storage, recipes,
            ledger=ledger, engine=engine, ready=lambda: state.readiness(ledger),
        ),
        ledger=ledger,
        bus=storage.bus,
        background=keys_of_issuers(access),
        duties=(due, recipes.watch, access.tokens),
        driver=_driver(settings, access, watching, storage, relay=relay, engine=engine),
        closing=(access.keyring.close, secrets.close, watching.traces.close),
        engine=engine,
        schematics=recipes.schematics,
        keyring=access.keyring,
        authenticator=access.authenticator,
        hub=watching.hub,
        echo=echo(settings, storage, recipes.topics),
        workers=workers(settings, secrets.root, access.worker_keys),
    )  # fmt: skip


def keys_of_issuers(access: Access) -> tuple[Work, ...]:
    """Keep the keys of token issuers fresh, where there are any."""
    jwks = access.jwks
    return () if jwks is None else (lambda: jwks.run(nature.sleep),)


def _driver(
    settings: Settings,
    access: Access,
    watching: Watching,
    storage: Storage,
    *,
    relay: Relay,
    engine: OutboxEngine,
) -> Driver:
    return Driver(
        relay=relay,
        note=engine.note,
        intakes=intakes(storage, engine.report),
        recover=lambda: recover(storage.ledger, relay),
        leadership=Leadership(None, sleep=nature.sleep),
        sender=webhook_sender(storage, watching, access.secrets.webhooks, webhook_policy(access)),
        led=(retention(settings, storage.ledger),),
    )
