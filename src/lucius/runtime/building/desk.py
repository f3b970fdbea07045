"""The invoker's parts, wherever it lives: in a process of its own, or in `lucius up`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from lucius import __version__
from lucius.adapters.observed_invoker import ObservedInvoker
from lucius.dispatch.backlog import Backlog
from lucius.dispatch.intake import REPLIES
from lucius.dispatch.recovery import recover
from lucius.dispatch.relay import Relay
from lucius.engines.temporal.desk import InvokerDesk
from lucius.engines.temporal.drift import Overdue
from lucius.engines.temporal.lateness import Lateness
from lucius.engines.temporal.left_open import LeftOpen
from lucius.entrypoints.invoker import BearerTokens, InvokerServices, create_invoker_app
from lucius.runtime import nature
from lucius.runtime.building.driving import Driver, directives, intakes, retention, webhook_sender
from lucius.runtime.building.temporal import workflow_signals
from lucius.runtime.invoker_token import invoker_token
from lucius.telemetry.asgi import ObservedApp
from lucius.telemetry.traces import within
from lucius.webhooks.outgoing import deliveries_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp
    from temporalio.client import Client

    from lucius.ports.bus import Subscription
    from lucius.ports.duties import Duty
    from lucius.runtime.building.storage import Storage
    from lucius.runtime.building.watching import Watching
    from lucius.runtime.leadership import Leadership
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings
    from lucius.runtime.state import State
    from lucius.runtime.tokens import AttemptTokens
    from lucius.webhooks.guard import Policy


CATCHING_UP = 20_000
"""Milliseconds that replies may take to come in after they could not: services rest up to 15 s."""


class Desk(msgspec.Struct, frozen=True, kw_only=True):
    """The invoker, and what it does beside answering."""

    invoker: InvokerDesk
    driver: Driver
    duties: tuple[Duty, ...]
    """Of every invoker; what only one does is with the driver."""
    hindered: Callable[[], None]
    """To be told whenever replies could not come in."""


def build_desk(
    settings: Settings,
    secrets: Secrets,
    watching: Watching,
    storage: Storage,
    client: Client,
    *,
    tokens: AttemptTokens,
    policy: Callable[[], Policy],
    leadership: Leadership,
    subscription: Subscription = REPLIES,
    bus_is_new: bool = False,
) -> Desk:
    """The sole writer of jobs after their creation. `subscription`: what replies are read from.

    `bus_is_new`: it never carried what the ledger calls published.
    """
    ledger, clock = storage.ledger, nature.now_ms
    relay, forgot = Relay(ledger, storage.observed_bus), bus_is_new or storage.bus.capabilities.volatile
    signals = workflow_signals(client, ledger, watching)
    lateness = Lateness(storage.bus, subscription.name, clock=clock, grace=CATCHING_UP)
    invoker = InvokerDesk(
        ledger,
        relay,
        Backlog(ledger, storage.bus, clock=clock),
        signals,
        lateness,
        render=directives(settings, tokens, watching),
        tell=deliveries_for,
        clock=clock,
        spread=nature.spread,
        untraced=watching.metrics.observe_reply,
        within=partial(within, watching.traces),
    )
    driver = Driver(
        relay=relay,
        note=invoker.note,
        intakes=intakes(storage, invoker.report, subscription, hindered=lateness.hindered),
        recover=(lambda: recover(ledger, relay)) if forgot else None,
        leadership=leadership,
        sender=webhook_sender(storage, watching, secrets.webhooks, policy),
        led=(
            retention(settings, ledger),
            LeftOpen(
                client, ledger, signals, invoker.closing, clock=clock, task_queue=settings.temporal_task_queue
            ),
        ),
    )
    overdue = Overdue(ledger, signals, invoker.closing, clock=clock)
    return Desk(invoker=invoker, driver=driver, duties=(overdue,), hindered=lateness.hindered)


def build_door(
    settings: Settings,
    secrets: Secrets,
    watching: Watching,
    storage: Storage,
    desk: Desk,
    *,
    state: State,
    draining: Callable[[], bool],
) -> ASGIApp:
    """The internal API of an invoker."""
    services = InvokerServices(
        invoker=ObservedInvoker(desk.invoker, watching.metrics.observe_invoker),
        tokens=BearerTokens([invoker_token(settings, secrets.invoker)]),
        ready=lambda: state.readiness(storage.ledger),
        draining=draining,
        new_id=nature.new_id,
        metrics_text=watching.metrics.exposition,
        version=__version__,
    )
    return ObservedApp(create_invoker_app(services), metrics=watching.metrics, traces=watching.traces)
