"""Where the kit listens: uvicorn on one socket, inside the run, without a say in signals."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from lucius.errors import Invalid


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the program's business."""
        yield


@contextlib.asynccontextmanager
async def listening(app: ASGIApp, address: str) -> AsyncIterator[str]:
    """Serve the app on `http://host:port` while the block runs; the address that services are to use."""
    with _bound(address) as bound:
        host, port = bound.getsockname()[:2]
        config = uvicorn.Config(
            app, http="httptools", loop="none", lifespan="off", log_config=None, access_log=False,
            server_header=False, proxy_headers=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
        finally:  # awaited here and not by a group, which would wrap the errors of the block
            server.should_exit = True
            await task


def _bound(address: str) -> socket.socket:
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme != "http" or parts.path not in {"", "/"}:
        raise Invalid(f"{address!r} is no address to listen on; write http://127.0.0.1:8799.", code="BAD_URL")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port or 0))
    except OSError as error:
        bound.close()
        raise Invalid(f"The kit cannot listen on {address}: {error.strerror}.", code="BAD_URL") from error
    bound.listen(128)
    return bound
