"""Start, ready, drain, stop.

Background work runs in one task group: relay, intakes, duties, webhooks, echo or the worker processes. A
part that ends with an unexpected error ends the process, loudly; the next start recovers from the ledger.
A failed ledger does the same. Workers start when the API answers and stop while it still does, so that
they can report what they have. Stopping is the reverse of starting: no new requests, running work may
finish, what was accepted is written, the file is let go.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from lucius.errors import LuciusError
from lucius.runtime import nature
from lucius.runtime.bootstrap import Lucius, build
from lucius.runtime.idle import tell_idle
from lucius.security.redaction import redact
from lucius.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from lucius.ports.duties import Duty
    from lucius.runtime.settings import Settings

#: The writer thread must get the interpreter back quickly when the event loop is busy.
SWITCH_INTERVAL = 0.0005
#: Records are frozen and hold no cycles; looking for some every 700 objects finds none.
GC_THRESHOLDS = (50_000, 20, 50)


@asynccontextmanager
async def running(
    settings: Settings, *, on_failure: Callable[[BaseException], None] | None = None
) -> AsyncIterator[Lucius]:
    """One Lucius at work; leaves it drained."""
    lucius = build(settings, on_failure=on_failure)
    background = asyncio.create_task(_work(lucius), name="lucius")
    background.add_done_callback(lambda task: _ended(task, on_failure))
    try:
        lucius.state.phase = "running"
        yield lucius
    finally:
        lucius.state.phase = "draining"
        await _stop(lucius, background)


def _ended(task: asyncio.Task[None], on_failure: Callable[[BaseException], None] | None) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None and on_failure is not None:
        on_failure(error)


async def _work(lucius: Lucius) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(lucius.relay.run(lucius.engine.note))
        for intake in lucius.intakes:
            group.create_task(intake.run())
        for duty in lucius.duties:
            group.create_task(_repeat(duty, lucius))
        group.create_task(lucius.sender.run())
        if lucius.jwks is not None:
            group.create_task(lucius.jwks.run(nature.sleep))
        report = await lucius.recover()
        if report.acted:
            structlog.get_logger("lucius").info("open attempts published again", attempts=report.acted)
        if lucius.echo is not None:
            group.create_task(lucius.echo.run())
        if lucius.workers is not None:
            group.create_task(lucius.workers.run())


async def _repeat(duty: Duty, lucius: Lucius) -> None:
    """A duty round after round; one that cannot be done now is tried again next time."""
    log = structlog.get_logger("lucius.duties")
    while True:
        try:
            report = await duty.run_once()
        except LuciusError as error:
            log.warning("duty put off", duty=duty.name, code=error.code, reason=error.message)
        else:
            if report.acted:
                lucius.metrics.observe_duty(duty.name, {"acted": report.acted})
            if report.more:
                continue
        await nature.sleep(duty.interval)


async def _stop(lucius: Lucius, background: asyncio.Task[None]) -> None:
    lucius.hub.close()
    lucius.sender.stop()
    if lucius.echo is not None:
        lucius.echo.stop()
    if lucius.workers is not None:
        await lucius.workers.stop()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(lucius.settings.drain_seconds):
            await lucius.relay.drained()
    background.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):  # told by `_ended` already
        await background
    await lucius.bus.close()
    await lucius.ledger.close()
    lucius.keyring.close()
    lucius.secrets.close()
    await lucius.traces.close()


async def serve(settings: Settings, *, announce: Callable[[Lucius, str], None] | None = None) -> int:
    """Serve HTTP until told to stop; 0, or 1 when something broke."""
    from lucius.runtime.server import Server  # other commands should not pay for it

    configure_logs(redact=redact, clock=nature.now_ms, level=settings.log_level, style=settings.log_style)
    tell_idle(settings)
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(*GC_THRESHOLDS)
    failed: list[BaseException] = []
    server: Server | None = None

    def broken(error: BaseException) -> None:
        failed.append(error)
        structlog.get_logger("lucius").critical(
            "a part has failed; stopping", reason=str(error), exc_info=error
        )
        if server is not None:
            server.stop()

    async with running(settings, on_failure=broken) as lucius:

        def drain() -> None:
            again = lucius.state.phase == "draining"
            lucius.state.phase = "draining"
            if lucius.workers is not None:
                (lucius.workers.kill if again else lucius.workers.ask)()
            lucius.hub.close()

        def opened() -> None:
            if lucius.workers is not None:
                lucius.workers.open()

        async def closing() -> None:
            if lucius.workers is not None:
                await lucius.workers.stop()

        server = Server(lucius.app, settings, drain, opened=opened, closing=closing)
        gc.collect()
        gc.freeze()
        if announce is not None:
            announce(lucius, settings.base_url)
        if settings.all_addresses and settings.public_url is None:
            structlog.get_logger("lucius").warning(
                "services on other machines need LUCIUS_PUBLIC_URL", callbacks=settings.base_url
            )
        await server.serve()
    return 1 if failed else 0


def run(settings: Settings, *, announce: Callable[[Lucius, str], None] | None = None) -> int:
    """`serve` on its own event loop; Ctrl-C and SIGTERM drain."""
    import uvloop

    with contextlib.suppress(ValueError):  # not the main thread: whoever started us handles signals
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return uvloop.run(serve(settings, announce=announce))
