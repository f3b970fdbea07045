"""`lucius up` and `lucius api` with the outbox engine: one process that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.dispatch.recovery import recover
from lucius.dispatch.relay import Relay
from lucius.engines.outbox.due import DueJobs
from lucius.engines.outbox.engine import OutboxEngine
from lucius.runtime import nature
from lucius.runtime.building.driving import Driver, directives, intakes, retention, webhook_sender
from lucius.runtime.building.front import webhook_policy
from lucius.runtime.building.ground import break_ground
from lucius.runtime.building.storage import exclusive
from lucius.runtime.leadership import Leadership
from lucius.webhooks.outgoing import deliveries_for

if TYPE_CHECKING:
    from lucius.runtime.building.ground import Ground
    from lucius.runtime.building.storage import OnFailure
    from lucius.runtime.process import Lucius
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings


async def build_outbox(settings: Settings, secrets: Secrets, on_failure: OnFailure | None) -> Lucius:
    """API, engine and bus together."""
    ground = await break_ground(
        settings, secrets, lambda watching, topics: exclusive(settings, watching, topics, on_failure)
    )
    storage, watching, ledger = ground.storage, ground.watching, ground.storage.ledger
    relay = Relay(ledger, storage.observed_bus)
    engine = OutboxEngine(
        ledger,
        relay,
        render=directives(settings, ground.access.tokens, watching),
        tell=deliveries_for,
        clock=nature.now_ms,
        chance=nature.chance,
        untraced=watching.metrics.observe_reply,
    )
    due = DueJobs(ledger, storage.bus, engine, clock=nature.now_ms, interval=settings.sweep_seconds)
    return ground.process(engine, ledger, duties=(due,), driver=_driver(ground, relay, engine))


def _driver(ground: Ground, relay: Relay, engine: OutboxEngine) -> Driver:
    storage, access = ground.storage, ground.access
    return Driver(
        relay=relay,
        note=engine.note,
        intakes=intakes(storage, engine.report),
        recover=lambda: recover(storage.ledger, relay),
        leadership=Leadership(None, sleep=nature.sleep),
        sender=webhook_sender(storage, ground.watching, ground.secrets.webhooks, webhook_policy(access)),
        led=(retention(ground.settings, storage.ledger),),
    )
