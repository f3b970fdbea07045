"""`lucius up` with Temporal: API and invoker in one process, the server and the worker beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.lost_starts import LostStarts
from lucius.engines.temporal.ownership import CreateOnly
from lucius.runtime import nature
from lucius.runtime.building.access import open_access
from lucius.runtime.building.desk import build_desk, build_door
from lucius.runtime.building.front import build_api, open_recipes, webhook_policy
from lucius.runtime.building.local import echo
from lucius.runtime.building.outbox import keys_of_issuers
from lucius.runtime.building.storage import exclusive
from lucius.runtime.building.temporal import open_client, watched_temporal, workflow_starts
from lucius.runtime.building.watching import open_watching
from lucius.runtime.leadership import Leadership
from lucius.runtime.process import Beside, Lucius
from lucius.runtime.reference_workers import GRACE, workers
from lucius.runtime.server import Listener
from lucius.runtime.state import State
from lucius.runtime.temporal_server import dev_server
from lucius.runtime.temporal_worker_program import worker_program
from lucius.runtime.workers import Workers
from lucius.webhooks.outgoing import deliveries_for

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from lucius.runtime.building.storage import OnFailure
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings


async def build_together(settings: Settings, secrets: Secrets, on_failure: OnFailure | None) -> Lucius:
    """Everything in one place."""
    server = None if settings.temporal_address is not None else dev_server(settings, secrets.root)
    address = settings.temporal_address or (server.address if server else "")
    access, watching, recipes = (
        open_access(settings, secrets),
        open_watching(settings),
        open_recipes(settings),
    )
    storage = exclusive(settings, watching, recipes.topics, on_failure)
    watching.watch(storage.ledger, storage.bus, limit=recipes.schematics.system_limit)
    client = await open_client(settings, address, watching.traces)
    state, starts = State("temporal"), workflow_starts(settings, client, watching)
    desk = build_desk(
        settings, secrets, watching, storage, client,
        tokens=access.tokens,
        policy=webhook_policy(access),
        leadership=Leadership(None, sleep=nature.sleep),
    )  # fmt: skip
    ledger = CreateOnly(storage.ledger)
    engine = TemporalEngine(
        ledger, starts, desk.invoker, tell=deliveries_for, waiting=desk.driver.relay.waiting
    )
    # The worker goes first and needs the door to the end: it is closed when nobody is left to ask.
    door = build_door(settings, secrets, watching, storage, desk, state=state, draining=lambda: False)
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
        background=keys_of_issuers(access),
        duties=(
            LostStarts(ledger, starts.for_repairs(), clock=nature.now_ms),
            *desk.duties,
            recipes.watch,
            access.tokens,
            watched_temporal(settings, client, address, state, watching),
        ),
        driver=desk.driver,
        closing=(access.keyring.close, secrets.close, watching.traces.close),
        engine=engine,
        schematics=recipes.schematics,
        keyring=access.keyring,
        authenticator=access.authenticator,
        hub=watching.hub,
        echo=echo(settings, storage, recipes.topics),
        workers=workers(settings, secrets.root, access.worker_keys),
        beside=Beside(
            door=_listener(settings, door),
            worker=Workers(
                [worker_program(settings, address, secrets)], patience=settings.drain_seconds + GRACE
            ),
            server=None if server is None else Workers([server.program], patience=settings.drain_seconds),
        ),
    )  # fmt: skip


def _listener(settings: Settings, door: ASGIApp) -> Listener:
    return Listener(
        door, host=settings.invoker_host, port=settings.invoker_port, drain_seconds=settings.drain_seconds
    )
