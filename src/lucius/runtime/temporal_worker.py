"""`lucius temporal-worker` as a process: workflows, and the calls they make to the invoker.

    connecting ──Temporal answers──▶ working ──SIGTERM──▶ finishes the calls under way ──▶ ended

It holds no state. While Temporal or the invoker is away it waits and says so once; what was asked is asked
again. A second signal ends it at once; so does the end of stdin, if whoever started it holds that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, TypeVar

import structlog

from lucius import __version__
from lucius.runtime import nature
from lucius.runtime.idle import tell_idle
from lucius.runtime.invoker_pulse import InvokerPulse
from lucius.runtime.temporal_address import address_of, require_temporal
from lucius.security.redaction import redact
from lucius.telemetry.logs import configure_logs
from lucius.telemetry.traces import open_traces, otlp_endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from temporalio.worker import Worker

    from lucius.runtime.settings import Settings

T = TypeVar("T")

LAST_WAIT = 0.2
"""Seconds; ending right after the last call crashes Temporal's client now and then."""


def run_worker(settings: Settings, *, until_eof: bool = False) -> int:
    """Work until told to stop; the exit code."""
    require_temporal()
    configure_logs(redact=redact, clock=nature.now_ms, level=settings.log_level, style=settings.log_style)
    tell_idle(settings, submits=False)
    if until_eof:
        _heed_eof()
    import uvloop

    return uvloop.run(serve_worker(settings))


async def serve_worker(settings: Settings) -> int:
    """`run_worker` on the event loop that is there already."""
    from lucius.runtime.building.worker import open_invoker, reach_temporal, temporal_worker

    log = structlog.get_logger("lucius.temporal")
    stop = asyncio.Event()
    heed_signals(stop.set)
    invoker = open_invoker(settings)
    endpoint = otlp_endpoint(settings.otlp_endpoint, os.environ)
    traces = open_traces(endpoint, version=__version__, name="lucius-temporal-worker")
    pulse = InvokerPulse(settings.invoker_urls)
    looking = [asyncio.create_task(pulse.run())]
    if settings.temporal_worker_health is not None:
        looking.append(asyncio.create_task(pulse.listen(settings.temporal_worker_health)))
    try:
        client = await _unless(stop, reach_temporal(settings, traces))
        if client is not None:
            worker = temporal_worker(settings, client, invoker)
            log.info("temporal worker runs", address=address_of(settings), version=__version__)
            pulse.working = True
            await _work(worker, stop)
    finally:
        pulse.working = False
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        await invoker.close()
        await traces.close()
        await nature.sleep(LAST_WAIT)
    return 0


async def _work(worker: Worker, stop: asyncio.Event) -> None:
    """Until told to stop; what breaks the worker is raised."""
    running, told = asyncio.create_task(worker.run()), asyncio.create_task(stop.wait())
    await asyncio.wait({running, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if not running.done():
        await worker.shutdown()
    await running


async def _unless(stop: asyncio.Event, waiting: Coroutine[None, None, T]) -> T | None:
    """What is waited for, or None when it is time to stop."""
    asked, told = asyncio.create_task(waiting), asyncio.create_task(stop.wait())
    await asyncio.wait({asked, told}, return_when=asyncio.FIRST_COMPLETED)
    if asked.done():
        told.cancel()
        return asked.result()
    asked.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asked
    return None


def heed_signals(stop: Callable[[], None]) -> None:
    """The first signal stops, the second ends."""
    asked: list[int] = []

    def heed(number: int) -> None:
        if asked:
            os._exit(130 if number == signal.SIGINT else 143)
        asked.append(number)
        structlog.get_logger("lucius.temporal").info("stopping; calls under way may finish")
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, heed, number)


def _heed_eof() -> None:
    """End with the parent: nobody is left who would start another one."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent").start()
