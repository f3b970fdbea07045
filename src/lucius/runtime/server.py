"""HTTP servers: uvicorn, with signals that drain instead of ending the process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp


class Listener(uvicorn.Server):
    """Serves in the background, and leaves signals to others: `serve` until `close`."""

    def __init__(self, app: ASGIApp, *, host: str, port: int, drain_seconds: float) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                http="httptools",
                loop="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                date_header=True,  # by it services notice that their clock is wrong
                backlog=4096,
                timeout_graceful_shutdown=max(1, int(drain_seconds)),
            )
        )
        self.open = asyncio.Event()
        """Set when requests are taken."""
        self._over = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        if self.started:
            self.open.set()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Until closed."""
        try:
            await super().serve(sockets)
        finally:
            self._over.set()

    async def close(self) -> None:
        """Take nothing new, finish what runs, and let go of the address."""
        self.should_exit = True
        if self.open.is_set():
            await self._over.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They are not for us."""
        yield


class Server(Listener):
    """Stops at SIGTERM or Ctrl-C; `drain` lets go of streams and long polls, so that nobody is waited for.

    `opened` is called when requests are taken, `closing` is waited for while they still are.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        port: int,
        drain_seconds: float,
        drain: Callable[[], None],
        opened: Callable[[], None],
        closing: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(app, host=host, port=port, drain_seconds=drain_seconds)
        self._drain = drain
        self._opened = opened
        self._closing = closing

    def stop(self) -> None:
        """Take nothing new and end; asked a second time, end at once."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._drain()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        if self.started:
            self._opened()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First those who report to us, then we."""
        await self._closing()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """In place of uvicorn's own, which raises the signal again before anything could drain."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        with contextlib.suppress(ValueError, RuntimeError):  # not the main thread: others handle signals
            for number in signals:
                loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            with contextlib.suppress(ValueError, RuntimeError):
                for number in signals:
                    loop.remove_signal_handler(number)
