"""What moves jobs, whatever the engine: the relay to the bus, readers of replies, webhooks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from lucius.dispatch.directives import Directives
from lucius.dispatch.intake import REPLIES, Intake
from lucius.dispatch.relay import Relay
from lucius.runtime import nature
from lucius.runtime.leadership import Leadership
from lucius.telemetry.traces import attempt_traceparent
from lucius.usecases.retention import Retention
from lucius.webhooks import guard
from lucius.webhooks.keyfile import open_signer
from lucius.webhooks.post import Poster, SystemResolver
from lucius.webhooks.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from lucius.core import commands as cmd
    from lucius.ports.bus import Subscription
    from lucius.ports.duties import Duty, Report
    from lucius.runtime.building.storage import AnyLedger, Storage
    from lucius.runtime.building.watching import Watching
    from lucius.runtime.settings import Settings
    from lucius.runtime.tokens import AttemptTokens

    Judge = Callable[[str, str, cmd.Reply], Awaitable[object]]

INTAKES = 4
"""Readers of the reply topics: while one waits for its commit, the next reads on."""


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """What moves jobs."""

    relay: Relay
    note: Callable[[str, cmd.Command], None]
    intakes: tuple[Intake, ...]
    recover: Callable[[], Awaitable[Report]] | None
    """Publish again what a volatile bus forgot; None: this one forgets nothing."""
    leadership: Leadership
    """Of several processes on one ledger, one sends webhooks and forgets old jobs."""
    sender: Sender
    led: tuple[Duty, ...]
    """The other duties of that one."""


def directives(settings: Settings, tokens: AttemptTokens, watching: Watching) -> Directives:
    """How directives are written."""
    callbacks = {name: f"{settings.base_url}/v1/callbacks/{name}" for name in ("ack", "heartbeat", "result")}
    return Directives(tokens.mint, callbacks, span=partial(attempt_traceparent, watching.traces))


def intakes(
    storage: Storage,
    judge: Judge,
    subscription: Subscription = REPLIES,
    *,
    hindered: Callable[[], None] = lambda: None,
) -> tuple[Intake, ...]:
    """Readers of replies."""
    bus, sleep = storage.observed_bus, nature.sleep
    return tuple(
        Intake(bus, judge, sleep=sleep, subscription=subscription, hindered=hindered) for _ in range(INTAKES)
    )


def webhook_sender(
    storage: Storage, watching: Watching, keys: Path, policy: Callable[[], guard.Policy]
) -> Sender:
    """Sends what commits have told to send."""
    sender = Sender(
        deliveries=storage.deliveries,
        poster=Poster(policy=policy, resolver=SystemResolver()),
        signer=open_signer(keys, nature.token_bytes),
        clock=nature.now_ms,
        chance=nature.spread,
        sleep=nature.sleep,
        observe=watching.metrics.observe_webhook,
    )
    storage.ledger.on_commit(lambda changes: sender.wake() if any(c.deliveries for c in changes) else None)
    return sender


def retention(settings: Settings, ledger: AnyLedger) -> Retention:
    """Forgets old jobs."""
    return Retention(ledger, clock=nature.now_ms, keep_ms=int(settings.retention_days * 86_400_000))
