"""A service as a process: settings, logs, signals, and the runner between a start and an orderly stop.

SIGTERM and Ctrl-C drain: nothing new is taken, running work may finish; a second signal ends it at once.
The exit code is 0 after a stop, 1 when something broke.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import secrets
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import structlog

from lucius import __version__
from lucius.errors import LuciusError
from lucius.sdk.attempts.opening import open_attempts
from lucius.sdk.serving.attempt import Tools
from lucius.sdk.serving.health import listen, probes
from lucius.sdk.serving.meter import Meter
from lucius.sdk.serving.pools import Processes
from lucius.sdk.serving.ports import Attempts, Transport
from lucius.sdk.serving.runner import Options, Runner
from lucius.sdk.serving.scratch import sweep
from lucius.sdk.serving.service import Service
from lucius.sdk.serving.settings import ServiceSettings
from lucius.sdk.serving.spans import Spans
from lucius.sdk.serving.telling import Telling
from lucius.sdk.transports.http import HttpTransport
from lucius.sdk.workspaces.stores import Stores
from lucius.security.redaction import redact
from lucius.telemetry.logs import configure_logs
from lucius.telemetry.traces import open_provider, otlp_endpoint

KEY_VARIABLES = ("LUCIUS_API_KEY", "LUCIUS_SERVICE_API_KEY")
LAST_WAIT = 5.0
"""Seconds the process waits for its threads at the very end."""
SILENCE_MS = 90_000
"""A Lucius that did not answer for so long makes a service unready."""


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def run(service: Service[Any], settings: ServiceSettings | None = None, *, until_eof: bool = False) -> int:
    """Serve until told to stop; the exit code. `until_eof`: also stop when stdin ends (the parent died)."""
    chosen = settings or ServiceSettings()
    for name in KEY_VARIABLES:  # read once; the processes that parse documents should not inherit it
        os.environ.pop(name, None)
    configure_logs(redact=redact, clock=now_ms, level=chosen.log_level, style=chosen.log_style)
    log = structlog.get_logger("lucius.service")
    code = 0
    try:
        asyncio.run(_serve_and_leave(service, chosen, until_eof=until_eof))
    except KeyboardInterrupt:
        code = 130
    except LuciusError as error:
        log.critical("the service cannot go on", code=error.code, reason=error.message)
        code = 1
    except BaseExceptionGroup as group:
        expected, broken = group.split(LuciusError)
        for known in _leaves(expected):
            log.critical("the service cannot go on", code=known.code, reason=known.message)
        if broken is not None:
            log.critical("the service broke", exc_info=broken)
        code = 1
    return code


def _leaves(group: BaseExceptionGroup[Any] | None) -> Iterator[LuciusError]:
    for error in group.exceptions if group is not None else ():
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


async def _serve_and_leave(service: Service[Any], settings: ServiceSettings, *, until_eof: bool) -> None:
    await serve(service, settings, until_eof=until_eof)
    # Work in a thread that was told to stop and did not would keep the process for ever.
    last = threading.Timer(LAST_WAIT, os._exit, (0,))
    last.daemon = True
    last.start()


async def serve(service: Service[Any], settings: ServiceSettings, *, until_eof: bool = False) -> None:
    """`run` on the event loop that is there already."""
    async with running(service, settings) as (runner, meter):
        _heed_signals(runner.stop)
        if until_eof:
            _heed_eof()
        structlog.get_logger("lucius.service").info(
            "service runs", step_type=service.step_type, url=settings.url, version=__version__
        )
        async with asyncio.TaskGroup() as group:
            health = None
            if settings.health_address is not None:
                app = probes(meter, lambda: _unready(service, runner))
                health = group.create_task(listen(app, *settings.health_address))
            await runner.run()
            if health is not None:
                health.cancel()


@contextlib.asynccontextmanager
async def running(service: Service[Any], settings: ServiceSettings) -> AsyncIterator[tuple[Runner, Meter]]:
    """A runner with everything it needs; lets all of it go afterwards."""
    key = settings.key.get_secret_value() if settings.key else None
    transport = HttpTransport(settings.url, key=key, clock=now_ms, sleep=asyncio.sleep, chance=random.random)
    attempts = await open_attempts(settings.store_of(service.step_type))
    await asyncio.to_thread(sweep, settings.scratch, time.time())
    meter, spans = Meter(service.step_type), _spans(service, settings)
    try:
        yield (
            build(service, settings, transport=transport, attempts=attempts, spans=spans, meter=meter),
            meter,
        )
    finally:
        await transport.close()
        await attempts.close()
        await asyncio.to_thread(spans.close)


def build(
    service: Service[Any],
    settings: ServiceSettings,
    *,
    transport: Transport,
    attempts: Attempts,
    spans: Spans,
    meter: Meter,
) -> Runner:
    """The runner of a service over any transport and store."""
    concurrency = settings.concurrency or service.concurrency
    tools = Tools(
        transport=transport,
        attempts=attempts,
        stores=Stores(file_roots=settings.file_roots),
        processes=Processes(concurrency),
        telling=Telling(transport, attempts, clock=now_ms, sleep=asyncio.sleep),
        meter=meter,
        spans=spans,
        clock=now_ms,
        sleep=asyncio.sleep,
    )
    options = Options(
        owner=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}",
        concurrency=concurrency,
        prefetch=settings.prefetch,
        wait=settings.wait_seconds,
        claim_seconds=settings.claim_seconds,
        drain_seconds=settings.drain_seconds,
        keep_seconds=settings.keep_days * 86_400,
        scratch=settings.scratch,
    )
    return Runner(service, tools, options, sleep=asyncio.sleep)


def _spans(service: Service[Any], settings: ServiceSettings) -> Spans:
    endpoint = otlp_endpoint(settings.otlp_endpoint, os.environ)
    if endpoint is None:
        return Spans()
    return Spans(open_provider(endpoint, name=f"lucius-{service.step_type.lower()}", version=__version__))


async def _unready(service: Service[Any], runner: Runner) -> str | None:
    heard_at = runner.last_heard()  # also by heartbeats: one who is at work asks for no more
    if heard_at is None or now_ms() - heard_at > SILENCE_MS:
        return "Lucius has not answered"
    if runner.store_away:
        return "The store of attempts cannot be written"
    try:
        await service.check()
    except LuciusError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - a check may raise whatever it likes
        return f"{type(error).__name__}: {error}"
    return None


def _heed_signals(stop: Callable[[], None]) -> None:
    """The first signal drains, the second ends."""
    loop = asyncio.get_running_loop()
    asked: list[int] = []

    def heed(number: int) -> None:
        if asked:
            os._exit(130 if number == signal.SIGINT else 143)
        asked.append(number)
        structlog.get_logger("lucius.service").info("stopping; running work may finish")
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heed, number)


def _heed_eof() -> None:
    """End with the parent: a worker of a process that is gone has nobody to answer to."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent").start()
