"""A whole Lucius on a real port, in a process of its own.

Not a thread: Hypothesis watches the process's chance, and Lucius draws from it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
import uvicorn

from lucius.runtime.lifecycle import running
from lucius.runtime.settings import Settings


@contextmanager
def served() -> Iterator[str]:
    """The base URL of a Lucius in memory that nobody serves."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield f"http://127.0.0.1:{port}"
            assert process.poll() is None, "the server died on the way"
        finally:
            process.terminate()
            process.wait(30)


async def serve() -> None:
    """Serve on a free port and print it."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # nobody reads what comes after the port
    )
    # The protocol is named, because asyncio sends small packets at once only then.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        settings = Settings(in_memory=True, port=port, drain_seconds=0.2, lifebook_concurrency=0)
        async with running(settings) as lucius:
            config = uvicorn.Config(lucius.app, lifespan="off", log_config=None, http="httptools")
            print(port, flush=True)  # noqa: T201 - how the parent learns it
            await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(serve())
