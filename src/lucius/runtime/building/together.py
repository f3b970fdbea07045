"""`lucius up` with Temporal: API and invoker in one process, the server and the worker beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.lost_starts import WAITING, LostStarts
from lucius.engines.temporal.ownership import CreateOnly
from lucius.runtime import nature
from lucius.runtime.building.desk import build_desk, build_door
from lucius.runtime.building.front import webhook_policy
from lucius.runtime.building.ground import break_ground
from lucius.runtime.building.storage import exclusive
from lucius.runtime.building.temporal import open_client, watched_temporal, workflow_starts
from lucius.runtime.leadership import Leadership
from lucius.runtime.process import Beside
from lucius.runtime.reference_workers import GRACE
from lucius.runtime.server import Listener
from lucius.runtime.temporal_server import dev_server
from lucius.runtime.temporal_worker_program import worker_program
from lucius.runtime.workers import Workers
from lucius.webhooks.outgoing import deliveries_for

if TYPE_CHECKING:
    from lucius.runtime.building.desk import Desk
    from lucius.runtime.building.ground import Ground
    from lucius.runtime.building.storage import OnFailure
    from lucius.runtime.process import Lucius
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings
    from lucius.runtime.temporal_server import DevServer


async def build_together(settings: Settings, secrets: Secrets, on_failure: OnFailure | None) -> Lucius:
    """Everything in one place."""
    server = None if settings.temporal_address is not None else dev_server(settings, secrets.root)
    address = settings.temporal_address or (server.address if server else "")
    ground = await break_ground(
        settings,
        secrets,
        lambda watching, topics: exclusive(settings, watching, topics, on_failure),
        "temporal",
    )
    watching, ledger = ground.watching, CreateOnly(ground.storage.ledger)
    client = await open_client(settings, address, watching.traces)
    starts = workflow_starts(settings, client, watching)
    desk = build_desk(
        settings, secrets, watching, ground.storage, client,
        tokens=ground.access.tokens,
        policy=webhook_policy(ground.access),
        leadership=Leadership(None, sleep=nature.sleep),
    )  # fmt: skip
    waiting = desk.driver.relay.waiting
    return ground.process(
        TemporalEngine(ledger, starts, desk.invoker, tell=deliveries_for, waiting=waiting),
        ledger,
        duties=(
            LostStarts(ledger, starts.for_repairs(), clock=nature.now_ms, patience=WAITING),
            *desk.duties,
            watched_temporal(settings, client, address, ground.state, watching),
        ),
        driver=desk.driver,
        beside=_beside(ground, desk, address, server),
    )


def _beside(ground: Ground, desk: Desk, address: str, server: DevServer | None) -> Beside:
    settings, secrets = ground.settings, ground.secrets
    # The worker goes first and needs the door to the end: it is closed when nobody is left to ask.
    door = build_door(
        settings, secrets, ground.watching, ground.storage, desk, state=ground.state, draining=lambda: False
    )
    worker = worker_program(settings, address, secrets)
    return Beside(
        address=address,
        door=Listener(
            door, host=settings.invoker_host, port=settings.invoker_port, drain_seconds=settings.drain_seconds
        ),
        worker=Workers([worker], patience=settings.drain_seconds + GRACE),
        server=None if server is None else Workers([server.program], patience=settings.drain_seconds),
    )
