"""`lucius invoker`: on the shared ledger and bus of a data directory, any number of them side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.core.routing import reply_topics, topics
from lucius.ports.bus import Subscription
from lucius.runtime import nature
from lucius.runtime.building.access import attempt_tokens
from lucius.runtime.building.desk import build_desk, build_door
from lucius.runtime.building.storage import bus_is_new, shared
from lucius.runtime.building.temporal import open_client, watched_temporal
from lucius.runtime.building.watching import open_watching
from lucius.runtime.bus_pulse import BusPulse
from lucius.runtime.leadership import Leadership
from lucius.runtime.process import Process
from lucius.runtime.state import State
from lucius.runtime.temporal_address import address_of
from lucius.security.authenticate import is_open
from lucius.webhooks import guard

if TYPE_CHECKING:
    from lucius.runtime.building.storage import OnFailure
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings


async def build_invoker(settings: Settings, secrets: Secrets, on_failure: OnFailure | None) -> Process:
    """Everything that writes jobs, and nothing that creates them."""
    watching, tokens = open_watching(settings, name="lucius-invoker"), attempt_tokens(secrets)
    # Jobs bring their recipes along: it needs no configuration, and knows the topics of either grid.
    grids = tuple(dict.fromkeys((*topics(two_grids=False), *topics(two_grids=True))))
    storage = shared(settings, watching, grids, on_failure, writes=True)
    ledger = storage.ledger
    watching.watch(ledger, storage.bus, limit=lambda: 0)
    keyring = SqliteKeyring(secrets.keyring)
    client = await open_client(settings, address_of(settings), watching.traces)
    state = State("temporal", "bus")
    replies = Subscription(name=settings.servicebus_reply_subscription, topics=reply_topics())
    desk = build_desk(
        settings, secrets, watching, storage, client,
        tokens=tokens,
        policy=lambda: guard.Policy(
            allow_loopback=is_open(keyring, jwt_configured=settings.jwt_issuer is not None)
        ),
        leadership=Leadership(secrets.root / "sender.lock", sleep=nature.sleep),
        subscription=replies,
        bus_is_new=await bus_is_new(settings, storage, replies.name),
    )  # fmt: skip
    return Process(
        settings=settings,
        secrets=secrets,
        state=state,
        metrics=watching.metrics,
        traces=watching.traces,
        app=build_door(
            settings, secrets, watching, storage, desk, state=state, draining=lambda: state.draining
        ),
        ledger=ledger,
        bus=storage.bus,
        background=storage.watch,
        duties=(
            *desk.duties,
            tokens,
            watched_temporal(settings, client, address_of(settings), state, watching),
            BusPulse(storage.bus, state, hindered=desk.hindered),
        ),
        driver=desk.driver,
        closing=(keyring.close, secrets.close, watching.traces.close),
    )
