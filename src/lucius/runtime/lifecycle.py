"""Start, ready, drain, stop: of `lucius up`, `lucius api` and `lucius invoker`.

Start   ledger and bus are opened; the background begins (`at_work.py`); then the listener takes requests,
        and services that report to it are started. With Temporal beside it, `up` opens the invoker's door
        first, then starts the development server, then the worker, which waits for the server. The API
        does not: it is ready when the ledger is, and workflows that could not be started are started later.
Drain   no new requests; services stop while the API still answers, so that they can report what they have;
        then the temporal worker, while the invoker's door is still open; then the door; then what was read
        is judged and what was started is published; then the development server; then bus, ledger, files.
        A second signal ends what is beside it at once.

A part that ends with an unexpected error ends the process, loudly; the next start recovers from the
ledger. A failed ledger does the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import structlog

from lucius.runtime import nature
from lucius.runtime.at_work import let_go, settle, work
from lucius.runtime.bootstrap import Lucius, Role, build, build_invoker
from lucius.runtime.idle import tell_idle
from lucius.security.redaction import redact
from lucius.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from contextlib import AbstractAsyncContextManager

    from lucius.runtime.process import Process
    from lucius.runtime.server import Server
    from lucius.runtime.settings import Settings

    OnFailure = Callable[[BaseException], None]
    P = TypeVar("P", bound=Process)

#: The writer thread must get the interpreter back quickly when the event loop is busy.
SWITCH_INTERVAL = 0.0005
#: Records are frozen and hold no cycles; looking for some every 700 objects finds none.
GC_THRESHOLDS = (50_000, 20, 50)
#: Seconds; ending right after the last call crashes Temporal's client now and then.
LAST_WAIT = 0.2


@asynccontextmanager
async def running(
    settings: Settings, *, role: Role = "up", on_failure: OnFailure | None = None
) -> AsyncIterator[Lucius]:
    """One Lucius at work; leaves it drained."""
    lucius = await build(settings, role=role, on_failure=on_failure)
    async with _at_work(lucius, on_failure):
        yield lucius


@asynccontextmanager
async def invoking(settings: Settings, *, on_failure: OnFailure | None = None) -> AsyncIterator[Process]:
    """One invoker at work; leaves it drained."""
    invoker = await build_invoker(settings, on_failure=on_failure)
    async with _at_work(invoker, on_failure):
        yield invoker


@asynccontextmanager
async def _at_work(process: Process, on_failure: OnFailure | None) -> AsyncIterator[None]:
    background = asyncio.create_task(work(process), name="lucius")
    background.add_done_callback(lambda task: _ended(task, on_failure))
    try:
        process.state.phase = "running"
        yield
    finally:
        process.state.phase = "draining"
        await _stop(process, background)


def _ended(task: asyncio.Task[None], on_failure: OnFailure | None) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None and on_failure is not None:
        on_failure(error)


async def _stop(process: Process, background: asyncio.Task[None]) -> None:
    if process.driver is not None:
        process.driver.sender.stop()
    beside = None
    if isinstance(process, Lucius):
        beside = process.beside
        process.hub.close()
        if process.echo is not None:
            process.echo.stop()
        if process.workers is not None:
            await process.workers.stop()
    if beside is not None:
        await beside.worker.stop()
        await beside.door.close()
    if process.driver is not None:
        await settle(process.driver, process.settings.drain_seconds)
    if isinstance(process, Lucius) and process.lifebook is not None and process.lifebook.poller is not None:
        await process.lifebook.poller.stop(process.settings.drain_seconds)
    if beside is not None and beside.server is not None:
        await beside.server.stop()
    background.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):  # told by `_ended` already
        await background
    await let_go(process)


async def serve(
    settings: Settings, *, role: Role = "up", announce: Callable[[Lucius, str], None] | None = None
) -> int:
    """Serve the HTTP API until told to stop; 0, or 1 when something broke."""

    def listening(lucius: Lucius) -> Server:
        if announce is not None:
            announce(lucius, settings.base_url)
        if settings.all_addresses and settings.public_url is None:
            structlog.get_logger("lucius").warning(
                "services on other machines need LUCIUS_PUBLIC_URL", callbacks=settings.base_url
            )
        return _front(lucius)

    return await _serve(
        settings, lambda broken: running(settings, role=role, on_failure=broken), listening, submits=True
    )


async def serve_invoker(settings: Settings, *, announce: Callable[[Process, str], None] | None = None) -> int:
    """Serve the invoker's internal API until told to stop; 0, or 1 when something broke."""

    def listening(invoker: Process) -> Server:
        if announce is not None:
            announce(invoker, settings.invoker_listens)
        return _door(invoker)

    return await _serve(
        settings, lambda broken: invoking(settings, on_failure=broken), listening, submits=False
    )


async def _serve(
    settings: Settings,
    opening: Callable[[OnFailure], AbstractAsyncContextManager[P]],
    listening: Callable[[P], Server],
    *,
    submits: bool,
) -> int:
    configure_logs(redact=redact, clock=nature.now_ms, level=settings.log_level, style=settings.log_style)
    tell_idle(settings, submits=submits)
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

    async with opening(broken) as process:
        gc.collect()
        gc.freeze()
        server = listening(process)
        await server.serve()
        _heed_insistence(process)
    if settings.engine == "temporal":
        await nature.sleep(LAST_WAIT)
    return 1 if failed else 0


def _heed_insistence(process: Process) -> None:
    """While runs are handed on, another signal stops their steps; the one after that ends the process."""
    lifebook = process.lifebook if isinstance(process, Lucius) else None
    if lifebook is None or lifebook.poller is None or not lifebook.poller.busy:
        return
    loop = asyncio.get_running_loop()

    def insisted() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        lifebook.worker.abort()

    with contextlib.suppress(ValueError, RuntimeError):  # not the main thread: signals are not ours
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, insisted)


def _front(lucius: Lucius) -> Server:
    """The listener of the API, in step with the services that report to it."""
    from lucius.runtime.server import Server  # other commands should not pay for it

    beside = (lucius.beside.worker, lucius.beside.server) if lucius.beside is not None else ()

    def drain() -> None:
        again = lucius.state.draining
        lucius.state.phase = "draining"
        if lucius.workers is not None:
            (lucius.workers.kill if again else lucius.workers.ask)()
        for programs in beside:
            if again and programs is not None:
                programs.kill()
        if again and lucius.lifebook is not None:
            lucius.lifebook.worker.abort()  # its runs are handed on without waiting for their steps
        lucius.hub.close()

    def opened() -> None:
        if lucius.workers is not None:
            lucius.workers.open()

    async def closing() -> None:
        if lucius.workers is not None:
            await lucius.workers.stop()

    settings = lucius.settings
    return Server(
        lucius.app,
        host=settings.host,
        port=settings.port,
        drain_seconds=settings.drain_seconds,
        drain=drain,
        opened=opened,
        closing=closing,
    )


def _door(invoker: Process) -> Server:
    """The listener of an invoker: it refuses what is new while it finishes what it has read."""
    from lucius.runtime.server import Server

    settings = invoker.settings

    def drain() -> None:
        invoker.state.phase = "draining"

    async def closing() -> None:
        if invoker.driver is not None:
            await settle(invoker.driver, settings.drain_seconds)

    return Server(
        invoker.app,
        host=settings.invoker_host,
        port=settings.invoker_port,
        drain_seconds=settings.drain_seconds,
        drain=drain,
        opened=lambda: None,
        closing=closing,
    )


def run(
    settings: Settings, *, role: Role = "up", announce: Callable[[Lucius, str], None] | None = None
) -> int:
    """`serve` on its own event loop; Ctrl-C and SIGTERM drain."""
    return _run(serve(settings, role=role, announce=announce))


def run_invoker(settings: Settings, *, announce: Callable[[Process, str], None] | None = None) -> int:
    """`serve_invoker` on its own event loop; Ctrl-C and SIGTERM drain."""
    return _run(serve_invoker(settings, announce=announce))


def _run(serving: Coroutine[None, None, int]) -> int:
    import uvloop

    with contextlib.suppress(ValueError):  # not the main thread: whoever started us handles signals
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return uvloop.run(serving)
