"""The temporal worker's parts: a connection, the invoker by HTTP, and what Temporal calls a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from lucius.adapters.invokers.http import HttpInvoker
from lucius.engines.temporal.sdk_metrics import metrics_runtime
from lucius.engines.temporal.worker import build_worker
from lucius.runtime import nature
from lucius.runtime.building.temporal import open_client
from lucius.runtime.invoker_token import invoker_token
from lucius.runtime.secrets import Secrets
from lucius.runtime.temporal_address import address_of

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.worker import Worker

    from lucius.runtime.settings import Settings
    from lucius.telemetry.traces import Traces

PAUSE = 0.5
"""Seconds between two tries to reach Temporal."""


def open_invoker(settings: Settings) -> HttpInvoker:
    """Whom the activities ask."""
    token = invoker_token(settings, Secrets(settings).invoker)
    return HttpInvoker(",".join(settings.invoker_urls), token)


async def reach_temporal(settings: Settings, traces: Traces) -> Client:
    """A connected client, however long that takes; says once that it waits."""
    address, told = address_of(settings), False
    runtime = metrics_runtime(settings.temporal_metrics_address)
    log = structlog.get_logger("lucius.temporal")
    while True:
        try:
            return await open_client(settings, address, traces, lazy=False, runtime=runtime)
        except RuntimeError as error:  # what the client raises while nobody listens there
            if not told:
                log.warning("Temporal does not answer; trying on", address=address, reason=str(error))
            told = True
            await nature.sleep(PAUSE)


def temporal_worker(settings: Settings, client: Client, invoker: HttpInvoker) -> Worker:
    """At rest."""
    return build_worker(
        client,
        invoker,
        task_queue=settings.temporal_task_queue,
        drain_seconds=settings.drain_seconds,
        version=settings.temporal_worker_build,
    )
