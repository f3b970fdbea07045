"""The temporal worker's parts: a connection, the invoker by HTTP, and what Temporal calls a worker."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import structlog

from lucius.adapters.invokers.http import HttpInvoker
from lucius.engines.temporal.connection import in_words
from lucius.engines.temporal.sdk_metrics import sdk_runtime
from lucius.engines.temporal.worker import build_worker
from lucius.runtime import nature
from lucius.runtime.building.temporal import open_client
from lucius.runtime.invoker_token import invoker_token
from lucius.runtime.secrets import Secrets
from lucius.runtime.temporal_address import address_of
from lucius.runtime.temporal_pulse import what_is_missed

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
    """A client that can have a worker, however long that takes; says once what it waits for."""
    address, told = address_of(settings), ""
    json = settings.log_style == "json" or (settings.log_style == "auto" and not sys.stderr.isatty())
    runtime = sdk_runtime(settings.temporal_metrics_address, json=json)
    log = structlog.get_logger("lucius.temporal")
    client: Client | None = None
    while True:
        try:
            if client is None:
                client = await open_client(settings, address, traces, lazy=False, runtime=runtime)
            missed = await what_is_missed(client)
            if missed is None:
                return client
        except RuntimeError as error:  # what the client raises while nobody listens there
            missed = in_words(error)
        what = f"Temporal {'does not answer' if client is None else 'cannot be used'}; trying on"
        if what != told:
            log.warning(what, address=address, reason=missed)
        told = what
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
