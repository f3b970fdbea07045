"""`lucius api` with Temporal: it creates jobs and starts their workflows; the rest is the invoker's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.adapters.invokers.http import HttpInvoker
from lucius.adapters.observed_invoker import ObservedInvoker
from lucius.engines.temporal.engine import TemporalEngine
from lucius.engines.temporal.lost_starts import WAITING, LostStarts
from lucius.engines.temporal.ownership import CreateOnly
from lucius.runtime import nature
from lucius.runtime.building.ground import break_ground
from lucius.runtime.building.storage import shared
from lucius.runtime.building.temporal import open_client, watched_temporal, workflow_starts
from lucius.runtime.bus_pulse import BusPulse
from lucius.runtime.invoker_token import invoker_token
from lucius.runtime.invoker_watch import InvokerWatch
from lucius.runtime.temporal_address import address_of
from lucius.webhooks.outgoing import deliveries_for

if TYPE_CHECKING:
    from lucius.runtime.building.storage import OnFailure
    from lucius.runtime.process import Lucius
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings


async def build_orchestrator(settings: Settings, secrets: Secrets, on_failure: OnFailure | None) -> Lucius:
    """The API beside its invokers."""
    ground = await break_ground(
        settings,
        secrets,
        lambda watching, topics: shared(settings, watching, topics, on_failure, writes=False),
        "temporal",
        "invoker",
        "bus",
    )
    watching, ledger = ground.watching, CreateOnly(ground.storage.ledger)
    client = await open_client(settings, address_of(settings), watching.traces)
    starts = workflow_starts(settings, client, watching)
    invoker = HttpInvoker(",".join(settings.invoker_urls), invoker_token(settings, secrets.invoker))
    asking = ObservedInvoker(invoker, watching.metrics.observe_invoker)
    return ground.process(
        TemporalEngine(ledger, starts, asking, tell=deliveries_for),
        ledger,
        duties=(
            LostStarts(ledger, starts.for_repairs(), clock=nature.now_ms, patience=WAITING),
            watched_temporal(settings, client, address_of(settings), ground.state, watching),
            InvokerWatch(settings.invoker_urls, ground.state),
            BusPulse(ground.storage.bus, ground.state),
        ),
        closing=(invoker.close,),
    )
